/** Fields of a flavor's form, and their conversion into requests. */

import type { FlavorInput, GpuType, OperatorFlavor, OperatorModel } from '../../../../api/operator/catalogue'

/** Empty text and undefined stand for the default. */
export type FlavorFields = {
  name: string
  gpuType: string
  gpuCount: number | undefined
  precision: string
  driver: string
  engine: string
  toolParser: string
  reasoningParser: string
  /** Separated by spaces; the console can only send values without any. */
  args: string
  weights: string
  pricePerGpuHour: string
  defaultTarget: number | undefined
  prefillTarget: number | undefined
  maxLen: number | undefined
}

export const EMPTY_FLAVOR: FlavorFields = {
  name: '',
  gpuType: '',
  gpuCount: 1,
  precision: '',
  driver: 'process',
  engine: 'forebay-engine',
  toolParser: '',
  reasoningParser: '',
  args: '',
  weights: '',
  pricePerGpuHour: '',
  defaultTarget: undefined,
  prefillTarget: undefined,
  maxLen: undefined,
}

/** `engineWeights` are those of the model, which a flavor without its own has. */
export const fieldsOf = (flavor: OperatorFlavor, engineWeights: string | undefined): FlavorFields => ({
  name: flavor.name,
  gpuType: flavor.gpuType,
  gpuCount: flavor.gpuCount,
  precision: flavor.precision,
  driver: flavor.driver,
  engine: flavor.engine ?? '',
  toolParser: flavor.toolParser ?? '',
  reasoningParser: flavor.reasoningParser ?? '',
  args: flavor.args?.join(' ') ?? '',
  weights: flavor.weights && flavor.weights !== engineWeights ? flavor.weights : '',
  pricePerGpuHour: flavor.pricePerGpuHour,
  defaultTarget: flavor.defaultTarget ?? undefined,
  prefillTarget: flavor.prefillTarget ?? undefined,
  maxLen: flavor.maxLen ?? undefined,
})

/** Options as a request has them; undefined if there are none. */
export const toArgs = (text: string) => text.trim().match(/\S+/g) ?? undefined

export function toFlavor(fields: FlavorFields): FlavorInput {
  const text = (value: string) => value.trim() || undefined
  const input = {
    gpuCount: fields.gpuCount,
    precision: text(fields.precision),
    driver: text(fields.driver),
    engine: text(fields.engine),
    toolParser: text(fields.toolParser),
    reasoningParser: text(fields.reasoningParser),
    args: toArgs(fields.args),
    weights: text(fields.weights),
    pricePerGpuHour: text(fields.pricePerGpuHour),
    defaultTarget: fields.defaultTarget,
    prefillTarget: fields.prefillTarget,
    maxLen: fields.maxLen,
  }
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
  return { name: fields.name.trim(), gpuType: fields.gpuType.trim(), ...given }
}

/** All flavors of a model with one added, replaced (`index`) or removed (`undefined`), as a request has them. */
export function flavorsWith(model: OperatorModel, index: number | undefined, changed: FlavorFields | undefined) {
  const kept = model.flavors.map((flavor) => toFlavor(fieldsOf(flavor, model.engine?.weights)))
  const added = changed ? [toFlavor(changed)] : []
  return index === undefined ? [...kept, ...added] : [...kept.slice(0, index), ...added, ...kept.slice(index + 1)]
}

/** `nvidia/h100-sxm-80gb` on two GPUs is `h100-sxm-80gb-2x`. */
export const suggestName = (gpuType: string, gpuCount: number | undefined) => {
  const kind = gpuType.trim().split('/')[1]
  return kind ? `${kind}-${gpuCount ?? 1}x` : ''
}

/** Where a GPU type is known from, in words. */
export function placesOf({ driver, nodes }: GpuType): string {
  const where = driver === 'kubernetes' ? ' of the cluster' : ''
  if (nodes.length === 0) return `on no node${where}`
  const gpus = nodes.reduce((sum, node) => sum + node.gpus, 0)
  const free = nodes.reduce((sum, node) => sum + node.free, 0)
  return `${free} of ${gpus} free on ${nodes.length === 1 ? '1 node' : `${nodes.length} nodes`}${where}`
}

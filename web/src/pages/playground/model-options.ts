/** Models that can be called: those of the catalogue, and the workspace's endpoints in their states. */

import type { Endpoint } from '../../api/endpoints'
import type { Model } from '../../api/models'

export type Modality = 'chat' | 'embedding'
/** `pricing` is absent for endpoints, which are billed per GPU-hour. */
export type ModelOption = {
  id: string
  name: string
  isEndpoint: boolean
  isUnavailable: boolean
  /** Of an endpoint, with what it waits for. */
  endpoint?: Pick<Endpoint, 'name' | 'state' | 'stateReason' | 'status'>
  pricing?: Model['pricing']
  /** What is absent is not known, as of endpoints: their engines may differ from those of the shared model. */
  capabilities?: Model['capabilities']
  /** The most tokens of prompt and response together. */
  contextLength?: number
}

/** The states in which an endpoint can be called, or resumed. */
const LISTED: readonly string[] = ['serving', 'scaled-to-zero', 'provisioning', 'suspended']
const STATE_NOTES: Partial<Record<string, string>> = {
  'scaled-to-zero': 'at zero: a call wakes it',
  provisioning: 'starting',
  suspended: 'suspended',
}

export function modelOptions(
  models: readonly Model[],
  endpoints: readonly Endpoint[],
  modality: Modality,
): ModelOption[] {
  const modalities = new Map(models.map((model) => [model.id, model.modality]))
  const shared = models
    .filter((model) => model.modality === modality)
    .map((model) => ({
      id: model.id,
      name: model.name,
      isEndpoint: false,
      isUnavailable: model.status === 'unavailable',
      pricing: model.pricing,
      capabilities: model.capabilities,
      contextLength: model.context_length ?? undefined,
    }))
  const dedicated = endpoints
    .filter(({ model, state }) => modalities.get(model) === modality && LISTED.includes(state))
    .map((endpoint) => ({
      id: endpoint.modelId,
      name: endpoint.name,
      isEndpoint: true,
      isUnavailable: endpoint.state === 'suspended',
      endpoint,
    }))
  return [...shared, ...dedicated]
}

/** The tab on which a model can be called: the one that is open, unless the model is of the other modality. */
export function tabFor<Tab extends string>(
  open: Tab,
  tabs: Record<Modality, Tab>,
  options: Record<Modality, readonly ModelOption[]>,
  model: string,
): Tab {
  const modality = (['chat', 'embedding'] as const).find((one) => options[one].some(({ id }) => id === model))
  return modality ? tabs[modality] : open
}

/** The initially selected model: the one from the URL, or else the first available one. */
export function initialModel(options: readonly ModelOption[], requested: string): string {
  if (requested) return requested
  return (options.find((option) => !option.isUnavailable) ?? options[0])?.id ?? ''
}

/** The model to compare with: another one that can be called, or the same one, whose responses differ, too. */
export function comparedModel(options: readonly ModelOption[], model: string): string {
  return options.find((option) => option.id !== model && !option.isUnavailable)?.id ?? model
}

/** Option groups of a Select, including the selected model even if it no longer exists. */
export function optionGroups(options: readonly ModelOption[], selected: string) {
  const item = ({ id, isUnavailable, endpoint }: ModelOption) => {
    const note = endpoint ? STATE_NOTES[endpoint.state] : isUnavailable ? 'unavailable' : undefined
    return { value: id, label: note ? `${id} (${note})` : id }
  }
  const groups = [
    { group: 'Models', items: options.filter((option) => !option.isEndpoint).map(item) },
    { group: 'Endpoints', items: options.filter((option) => option.isEndpoint).map(item) },
  ]
  if (selected && !options.some((option) => option.id === selected))
    groups.push({ group: 'Not available here', items: [{ value: selected, label: selected }] })
  return groups.filter(({ items }) => items.length > 0)
}

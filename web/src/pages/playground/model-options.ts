/** Models that can be called: those of the catalogue, and the workspace's serving endpoints. */

import type { ServingEndpoint } from '../../api/inference'
import type { Model } from '../../api/models'

export type Modality = 'chat' | 'embedding'
/** `pricing` is absent for endpoints, which are billed per GPU-hour. */
export type ModelOption = {
  id: string
  name: string
  isEndpoint: boolean
  isUnavailable: boolean
  pricing?: Model['pricing']
}

export function modelOptions(
  models: readonly Model[],
  endpoints: readonly ServingEndpoint[],
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
    }))
  const dedicated = endpoints
    .filter((endpoint) => modalities.get(endpoint.model) === modality)
    .map((endpoint) => ({
      id: endpoint.modelId,
      name: endpoint.name,
      isEndpoint: true,
      isUnavailable: false,
    }))
  return [...shared, ...dedicated]
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
  const item = ({ id, isUnavailable }: ModelOption) => ({
    value: id,
    label: isUnavailable ? `${id} (unavailable)` : id,
  })
  const groups = [
    { group: 'Models', items: options.filter((option) => !option.isEndpoint).map(item) },
    { group: 'Serving endpoints', items: options.filter((option) => option.isEndpoint).map(item) },
  ]
  if (selected && !options.some((option) => option.id === selected))
    groups.push({ group: 'Not available here', items: [{ value: selected, label: selected }] })
  return groups.filter(({ items }) => items.length > 0)
}

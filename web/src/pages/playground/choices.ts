/** What can be called here: models of the catalogue, and the workspace's serving endpoints. */

import type { ServingEndpoint } from '../../api/inference'
import type { Model } from '../../api/models'

export type Modality = 'chat' | 'embedding'
/** `pricing` is absent where tokens cost nothing of their own: an endpoint is paid by the GPU-hour. */
export type Choice = {
  id: string
  name: string
  isEndpoint: boolean
  isUnavailable: boolean
  pricing?: Model['pricing']
}

export function choicesOf(
  models: readonly Model[],
  endpoints: readonly ServingEndpoint[],
  modality: Modality,
): Choice[] {
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

/** The model to begin with: what the address names, or else the first that answers. */
export function startingChoice(choices: readonly Choice[], wished: string): string {
  if (wished) return wished
  return (choices.find((choice) => !choice.isUnavailable) ?? choices[0])?.id ?? ''
}

/** For a Select: in groups, with what the address names even when it is not there any more. */
export function groupsOf(choices: readonly Choice[], chosen: string) {
  const item = ({ id, isUnavailable }: Choice) => ({ value: id, label: isUnavailable ? `${id} (unavailable)` : id })
  const groups = [
    { group: 'Models', items: choices.filter((choice) => !choice.isEndpoint).map(item) },
    { group: 'Serving endpoints', items: choices.filter((choice) => choice.isEndpoint).map(item) },
  ]
  if (chosen && !choices.some((choice) => choice.id === chosen))
    groups.push({ group: 'Not available here', items: [{ value: chosen, label: chosen }] })
  return groups.filter(({ items }) => items.length > 0)
}

/** Filters and sort orders of the model library. */

import type { Model } from '../../api/models'
import { oneOf, text, type Values } from '../../ui/filters'
import { nanoUsd } from '../../ui/format'
import { parseSort, sortRows } from '../../ui/sorting'

export const SORTS = [
  { value: 'name', label: 'Name' },
  { value: 'input', label: 'Cheapest input' },
  { value: '-input', label: 'Most expensive input' },
  { value: 'output', label: 'Cheapest output' },
  { value: '-output', label: 'Most expensive output' },
  { value: '-context', label: 'Longest context' },
  { value: 'context', label: 'Shortest context' },
] as const

export const FILTERS = {
  q: text(),
  provider: text(),
  modality: text(),
  status: oneOf(['', 'available', 'degraded', 'unavailable']),
  sort: oneOf([
    'name',
    '-name',
    'provider',
    '-provider',
    'status',
    '-status',
    'input',
    '-input',
    'output',
    '-output',
    'context',
    '-context',
  ]),
  view: oneOf(['cards', 'table']),
}

type ModelQuery = Omit<Values<typeof FILTERS>, 'view'>

export const SORT_BY: Record<string, (model: Model) => string | number | bigint | undefined> = {
  name: (model) => model.name,
  provider: (model) => model.provider,
  status: (model) => model.status,
  input: (model) => nanoUsd(model.pricing.input_per_1m),
  // Embeddings have no output, so the price is meaningless.
  output: (model) => (model.modality === 'embedding' ? undefined : nanoUsd(model.pricing.output_per_1m)),
  context: (model) => model.context_length,
}

/** `namesOf` gives the aliases of a model, which the search finds too. */
export function filterModels(
  models: readonly Model[],
  query: ModelQuery,
  namesOf: (model: Model) => readonly string[] = () => [],
): Model[] {
  const words = query.q.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = (model: Model) => {
    const text = [model.id, model.name, ...namesOf(model)].join(' ').toLowerCase()
    return (
      words.every((word) => text.includes(word)) &&
      (!query.provider || model.provider === query.provider) &&
      (!query.modality || model.modality === query.modality) &&
      (!query.status || model.status === query.status)
    )
  }
  const { column, descending } = parseSort(query.sort)
  const byName = sortRows(models.filter(matches), SORT_BY.name, false)
  return sortRows(byName, SORT_BY[column], descending)
}

/** Distinct values of a member, as options of a filter. */
export const valuesOf = (models: readonly Model[], member: 'provider' | 'modality') =>
  [...new Set(models.map((model) => model[member]))].sort()

/** Filters and sort orders of the model library. */

import type { Library, Model } from '../../api/models'
import { oneOf, text, type Values } from '../../ui/filters'
import { nanoUsd } from '../../ui/format'
import { hasWords, parseSort, sortRows } from '../../ui/sorting'

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
  // Only chats have an output with a price.
  output: (model) => (model.modality !== 'chat' ? undefined : nanoUsd(model.pricing.output_per_1m)),
  context: (model) => model.context_length,
}

/** The search finds models by their aliases, too. */
export function filterModels({ models, aliases }: Library, query: ModelQuery): Model[] {
  const matches = (model: Model) => {
    const names = [model.id, model.name, ...(aliases.get(model.id) ?? [])].join(' ')
    return (
      hasWords(names, query.q.trim()) &&
      (!query.provider || model.provider === query.provider) &&
      (!query.modality || model.modality === query.modality) &&
      (!query.status || model.status === query.status)
    )
  }
  const { column, descending } = parseSort(query.sort)
  const byName = sortRows(models.filter(matches), SORT_BY.name, false)
  return query.sort === 'name' ? byName : sortRows(byName, SORT_BY[column], descending)
}

/** Distinct values of a member, as options of a filter. */
export const valuesOf = (models: readonly Model[], member: 'provider' | 'modality') =>
  [...new Set(models.map((model) => model[member]))].sort()

/** Which models are shown, and in which order. */

import type { Model } from '../../api/models'
import { oneOf, text, type Values } from '../../ui/filters'
import { nanoUsd } from '../../ui/format'
import { parseSort, sortRows } from '../../ui/sorting'

export const SORTS = [
  { value: 'name', label: 'Name' },
  { value: 'input', label: 'Cheapest input' },
  { value: '-input', label: 'Dearest input' },
  { value: 'output', label: 'Cheapest output' },
  { value: '-output', label: 'Dearest output' },
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

type Wanted = Omit<Values<typeof FILTERS>, 'view'>

export const SORT_BY: Record<string, (model: Model) => string | number | bigint | undefined> = {
  name: (model) => model.name,
  provider: (model) => model.provider,
  status: (model) => model.status,
  input: (model) => nanoUsd(model.pricing.input_per_1m),
  // Embeddings have no output, so its price says nothing.
  output: (model) => (model.modality === 'embedding' ? undefined : nanoUsd(model.pricing.output_per_1m)),
  context: (model) => model.context_length,
}

export function choose(models: readonly Model[], wanted: Wanted): Model[] {
  const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = (model: Model) => {
    const said = `${model.id} ${model.name}`.toLowerCase()
    return (
      words.every((word) => said.includes(word)) &&
      (!wanted.provider || model.provider === wanted.provider) &&
      (!wanted.modality || model.modality === wanted.modality) &&
      (!wanted.status || model.status === wanted.status)
    )
  }
  const { column, descending } = parseSort(wanted.sort)
  const byName = sortRows(models.filter(matches), SORT_BY.name, false)
  return sortRows(byName, SORT_BY[column], descending)
}

/** The values that there are, for the choices of a filter. */
export const valuesOf = (models: readonly Model[], member: 'provider' | 'modality') =>
  [...new Set(models.map((model) => model[member]))].sort()

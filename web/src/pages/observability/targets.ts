/** What calls are about: a model or an endpoint, never both. */

import type { SeriesLine } from '../../api/series'

/** `model:acme/tiny` and `endpoint:chat-prod` as the address has them. */
export function targetOf(value: string | null): { model: string; endpoint: string } {
  if (value?.startsWith('model:')) return { model: value.slice('model:'.length), endpoint: '' }
  if (value?.startsWith('endpoint:')) return { model: '', endpoint: value.slice('endpoint:'.length) }
  return { model: '', endpoint: '' }
}

export function choiceOf({ model, endpoint }: { model: string; endpoint: string }): string | null {
  if (endpoint) return `endpoint:${endpoint}`
  return model ? `model:${model}` : null
}

/** What a line of a chart is about. */
export function lineName(line: SeriesLine, named: (id: string | null | undefined) => string): string {
  if (line.others) return 'All others'
  if (line.code !== undefined) return line.code || 'no code'
  if (line.endpoint !== undefined) return line.endpoint
  if ('key' in line || 'user' in line) return named(line.key ?? line.user)
  return line.model ?? 'no such model'
}

/** Metrics that are measured at endpoints know neither keys nor models of the catalogue. */
export const knowsEndpoints = (only: { model?: string; key?: string }) => !only.model && !only.key

/** Target of calls: a model or an endpoint, never both. */

import type { SeriesLine } from '../../api/series'
import type { SurfaceName } from '../../api/surfaces'

/** Parses a value of the target filter: `model:acme/tiny` or `endpoint:chat-prod`. */
export function targetOf(value: string | null): { model: string; endpoint: string } {
  if (value?.startsWith('model:')) return { model: value.slice('model:'.length), endpoint: '' }
  if (value?.startsWith('endpoint:')) return { model: '', endpoint: value.slice('endpoint:'.length) }
  return { model: '', endpoint: '' }
}

/** Value of the target filter; the inverse of `targetOf`. */
export function targetValue({ model, endpoint }: { model: string; endpoint: string }): string | null {
  if (endpoint) return `endpoint:${endpoint}`
  return model ? `model:${model}` : null
}

/** Label of a chart line. */
export function lineName(line: SeriesLine, callerNameOf: (id: string | null | undefined) => string): string {
  if (line.others) return 'All others'
  if (line.code !== undefined) return line.code || 'no code'
  if (line.endpoint !== undefined) return line.endpoint
  if (line.replica !== undefined) return line.replica
  if ('key' in line || 'user' in line) return callerNameOf(line.key ?? line.user)
  return line.model ?? 'unknown model'
}

/** Which calls are shown. */
export type CallFilter = { model?: string; endpoint?: string; key?: string; surface?: SurfaceName }
/** The request log knows the end users, too; charts do not. */
export type RequestFilter = CallFilter & { endUser?: string }

/** Whether endpoint metrics apply: they are not recorded per key, catalogue model or API. */
export const appliesToEndpoints = ({ model, key, surface }: CallFilter) => !model && !key && !surface

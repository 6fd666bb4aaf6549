/** Sums of usage by the API of the calls. */

import type { UsageLine } from '../../api/costs'
import type { CallFilter } from './targets'

export type ApiUsage = { surface: string; requests: number; promptTokens: number; completionTokens: number }

/** `usage` is grouped by model, key and surface; only what the filter selects is counted. Most calls first. */
export function byApi(
  usage: readonly UsageLine[],
  { model, endpoint, key, surface: selectedSurface }: CallFilter,
): ApiUsage[] {
  const selected = endpoint ? `dedicated/${endpoint}` : model
  const sums = new Map<string, ApiUsage>()
  for (const line of usage) {
    if (selected && line.model !== selected) continue
    if (key && line.key !== key && line.user !== key) continue
    const surface = line.surface ?? ''
    if (selectedSurface && surface !== selectedSurface) continue
    const sum = sums.get(surface) ?? { surface, requests: 0, promptTokens: 0, completionTokens: 0 }
    sum.requests += line.requests
    sum.promptTokens += line.promptTokens
    sum.completionTokens += line.completionTokens
    sums.set(surface, sum)
  }
  return [...sums.values()].sort((left, right) => right.requests - left.requests)
}

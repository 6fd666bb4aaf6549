/** The tokens of a stopped response. Its stream ended before it reported them, but they are in the request log. */

import { type LoggedRequest, loggedRequest } from '../../api/series'
import type { Answer } from './conversation'

/** Calls are logged a few seconds after they end. */
const DELAYS_MS = [1_000, 2_000, 4_000, 8_000]

type Usage = Required<Pick<Answer, 'usage' | 'isEstimate'>>

export async function usageOfStopped(workspaceId: string, requestId: string, find = loggedRequest) {
  for (const ms of DELAYS_MS) {
    await new Promise((ended) => setTimeout(ended, ms))
    const call = await find(workspaceId, requestId).catch(() => undefined)
    if (call) return usageOf(call)
  }
  return undefined
}

type Counted = Pick<LoggedRequest, 'promptTokens' | 'cachedTokens' | 'completionTokens' | 'certainty'>

/** Undefined if nothing was counted. */
export function usageOf({ certainty, promptTokens, cachedTokens, completionTokens }: Counted): Usage | undefined {
  if (certainty === 'void') return undefined
  return { usage: { promptTokens, cachedTokens, completionTokens }, isEstimate: certainty !== 'exact' }
}

/** A key's own limits, as rows of its form and as text. */

import type { Key, ModelLimit } from '../../api/keys'
import { formatCount } from '../../ui/format'

type PerMinute = { requestsPerMinute?: number | null; tokensPerMinute?: number | null }

/** Limits per minute as text; undefined if there are none. */
export function limitsOf({ requestsPerMinute, tokensPerMinute }: PerMinute) {
  const parts = [
    requestsPerMinute == null ? undefined : `${formatCount(requestsPerMinute)} requests/min`,
    tokensPerMinute == null ? undefined : `${formatCount(tokensPerMinute)} tokens/min`,
  ].filter((part) => part !== undefined)
  return parts.length ? parts.join(', ') : undefined
}

/** `acme/*: 60 requests/min`, one text per entry. */
export const modelLimitTexts = ({ limits }: Pick<Key, 'limits'>) =>
  (limits.perModel ?? []).map((limit) => `${limit.model}: ${limitsOf(limit)}`)

export type ModelLimitRow = {
  model: string
  requestsPerMinute: number | undefined
  tokensPerMinute: number | undefined
}

export const MAX_MODEL_LIMITS = 50
export const NO_LIMIT: ModelLimitRow = { model: '', requestsPerMinute: undefined, tokensPerMinute: undefined }

/** It has a model and a limit. */
export const isModelLimit = ({ model, requestsPerMinute, tokensPerMinute }: ModelLimitRow) =>
  !!model.trim() && (requestsPerMinute !== undefined || tokensPerMinute !== undefined)

export const limitRows = ({ limits }: Pick<Key, 'limits'>): ModelLimitRow[] =>
  (limits.perModel ?? []).map(({ model, requestsPerMinute, tokensPerMinute }) => ({
    model,
    requestsPerMinute: requestsPerMinute ?? undefined,
    tokensPerMinute: tokensPerMinute ?? undefined,
  }))

export const toModelLimits = (rows: readonly ModelLimitRow[]): ModelLimit[] =>
  rows.map(({ model, requestsPerMinute, tokensPerMinute }) => ({
    model: model.trim(),
    requestsPerMinute: requestsPerMinute ?? null,
    tokensPerMinute: tokensPerMinute ?? null,
  }))

import type { Key } from '../../api/keys'
import { formatCount } from '../../ui/format'

/** A key's own limits as text; undefined if only the workspace limits apply. */
export function limitsOf({ requestsPerMinute, tokensPerMinute }: Pick<Key, 'requestsPerMinute' | 'tokensPerMinute'>) {
  const parts = [
    requestsPerMinute == null ? undefined : `${formatCount(requestsPerMinute)} requests/min`,
    tokensPerMinute == null ? undefined : `${formatCount(tokensPerMinute)} tokens/min`,
  ].filter((part) => part !== undefined)
  return parts.length ? parts.join(', ') : undefined
}

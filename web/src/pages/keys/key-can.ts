/** What may be done with a key in which state, and by whom; the reason is shown when it may not. */

import type { Key } from '../../api/keys'
import type { Tone } from '../../ui/StatusBadge'

export type KeyAction = 'rotate' | 'disable' | 'enable' | 'revoke'
type Who = { userId: string; isAdmin: boolean }

export const STATES: Record<Key['state'], { tone: Tone; label: string }> = {
  active: { tone: 'ok', label: 'Active' },
  disabled: { tone: 'warn', label: 'Disabled' },
  expired: { tone: 'idle', label: 'Expired' },
  revoked: { tone: 'idle', label: 'Revoked' },
}

const OVER: Partial<Record<Key['state'], string>> = {
  revoked: 'The key has been revoked',
  expired: 'The key has expired',
}

/** Why not; undefined when it may be done. */
export function whyNot(action: KeyAction, key: Pick<Key, 'state' | 'createdBy'>, who: Who): string | undefined {
  const isOwn = key.createdBy === who.userId
  if ((action === 'disable' || action === 'enable') && !who.isAdmin)
    return 'Only administrators disable and enable keys'
  if (!who.isAdmin && !isOwn) return 'Members may change only the keys that they created'
  if (key.state === 'revoked') return OVER.revoked
  if (key.state === 'expired' && action !== 'revoke') return OVER.expired
  if (action === 'enable') return key.state === 'disabled' ? undefined : 'The key is not disabled'
  if (key.state === 'disabled') return action === 'disable' ? 'The key is already disabled' : 'Enable the key first'
  return undefined
}

/** Keys that count towards the limit: those that work, or could again. */
export const countedKeys = (keys: readonly Pick<Key, 'state'>[]) =>
  keys.filter(({ state }) => state === 'active' || state === 'disabled').length

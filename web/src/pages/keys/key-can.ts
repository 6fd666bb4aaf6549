/** Which actions a key allows, by state and user, and the reason shown otherwise. */

import type { Key } from '../../api/keys'
import type { StateDisplay } from '../../ui/states'

export type KeyAction = 'edit' | 'rotate' | 'disable' | 'enable' | 'revoke'
type Actor = { userId: string; isAdmin: boolean }

export const STATES: Record<Key['state'], StateDisplay> = {
  active: { tone: 'ok', label: 'Active' },
  disabled: { tone: 'warn', label: 'Disabled' },
  expired: { tone: 'idle', label: 'Expired' },
  revoked: { tone: 'idle', label: 'Revoked' },
}

const ENDED: Partial<Record<Key['state'], string>> = {
  revoked: 'The key has been revoked',
  expired: 'The key has expired',
}

/** Reason why the action is unavailable; undefined if it is allowed. */
export function keyActionBlocked(
  action: KeyAction,
  key: Pick<Key, 'state' | 'createdBy'>,
  actor: Actor,
): string | undefined {
  const isOwn = key.createdBy === actor.userId
  if ((action === 'disable' || action === 'enable') && !actor.isAdmin)
    return 'Only administrators can disable and enable keys'
  if (!actor.isAdmin && !isOwn) return 'Members can change only keys they created'
  if (key.state === 'revoked') return ENDED.revoked
  if (key.state === 'expired' && action !== 'revoke') return ENDED.expired
  if (action === 'enable') return key.state === 'disabled' ? undefined : 'The key is not disabled'
  if (key.state !== 'disabled' || action === 'edit') return undefined
  if (action === 'disable') return 'The key is already disabled'
  if (action === 'revoke') return actor.isAdmin ? undefined : 'Only administrators can revoke a disabled key'
  return 'Enable the key first'
}

/** `1 key`, `3 keys`. */
export const countOf = (count: number) => `${count} ${count === 1 ? 'key' : 'keys'}`

/** Who created the keys, and which keys the filters select. */

import type { Key, KeySelection } from '../../api/keys'
import type { Member } from '../../api/members'

/** The filter for keys of users who are no longer members. */
export const REMOVED = 'removed'

type Created = Pick<Key, 'createdBy'>
type Named = Pick<Member, 'userId' | 'email'>

export type Creator =
  | { kind: 'member'; email: string }
  /** Removed from the organization, or an operator who never was a member. */
  | { kind: 'removed'; id: string }
  /** Created on the command line. */
  | { kind: 'none' }

export function creatorOf(key: Created, members: readonly Named[]): Creator {
  if (!key.createdBy) return { kind: 'none' }
  const member = members.find(({ userId }) => userId === key.createdBy)
  return member ? { kind: 'member', email: member.email } : { kind: 'removed', id: key.createdBy }
}

/** Options of the filter. */
export const creatorOptions = (members: readonly Named[]) => [
  ...members.map(({ userId, email }) => ({ value: userId, label: email })),
  { value: REMOVED, label: 'Removed members' },
]

/** The keys that a filter selects; an empty one selects all. */
export function selectionOf(show: 'usable' | 'all', creator: string): KeySelection {
  const counted = show === 'usable' ? { counted: true } : {}
  if (!creator) return counted
  return creator === REMOVED ? { ...counted, removedMembers: true } : { ...counted, createdBy: creator }
}

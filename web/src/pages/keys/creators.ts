/** Who created the keys, and which keys a creator filter shows. */

import type { Key } from '../../api/keys'
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

/** Options of the filter: the members who created one of the keys, and removed members if there are any. */
export function creatorOptions(keys: readonly Created[], members: readonly Named[]) {
  const creators = members.filter(({ userId }) => keys.some(({ createdBy }) => createdBy === userId))
  const options = creators.map(({ userId, email }) => ({ value: userId, label: email }))
  const hasRemoved = keys.some((key) => creatorOf(key, members).kind === 'removed')
  return hasRemoved ? [...options, { value: REMOVED, label: 'Removed members' }] : options
}

/** The keys of one creator, or of removed members; an empty filter shows all. */
export function byCreator<K extends Created>(keys: readonly K[], creator: string, members: readonly Named[]): K[] {
  if (!creator) return [...keys]
  return keys.filter((key) =>
    creator === REMOVED ? creatorOf(key, members).kind === 'removed' : key.createdBy === creator,
  )
}

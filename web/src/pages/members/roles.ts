/** Who may change whom, and what a member belongs to. */

import type { Member, Role } from '../../api/members'

export const ROLES: { value: Role; label: string; meaning: string }[] = [
  { value: 'member', label: 'Member', meaning: 'Works in the workspaces they were put into' },
  { value: 'admin', label: 'Administrator', meaning: 'Manages people, keys and limits in every workspace' },
]

export const roleName = (role: Role) => ROLES.find((one) => one.value === role)?.label ?? role

/** Why a member can neither leave nor become a plain member; undefined when both can be. */
export function whyStays(member: Member, members: readonly Member[]): string | undefined {
  const isLast = member.role === 'admin' && members.filter((one) => one.role === 'admin').length === 1
  return isLast ? 'An organization keeps at least one administrator' : undefined
}

type Named = { id: string; name: string }

/** The workspaces in words; those that the reader cannot see are counted. */
export function placesOf(member: Pick<Member, 'role' | 'workspaceIds'>, workspaces: readonly Named[]): string {
  if (member.role === 'admin') return 'All workspaces'
  const known = workspaces.filter(({ id }) => member.workspaceIds.includes(id)).map(({ name }) => name)
  const hidden = member.workspaceIds.length - known.length
  const parts = hidden > 0 ? [...known, `${hidden} other${hidden === 1 ? '' : 's'}`] : known
  return parts.join(', ') || 'None yet'
}

/** Which workspaces to put somebody into, and which to take them out of. */
export function moves(before: readonly string[], after: readonly string[]) {
  return { put: after.filter((id) => !before.includes(id)), take: before.filter((id) => !after.includes(id)) }
}

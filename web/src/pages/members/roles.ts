/** Roles and workspaces of members. */

import type { OrganizationKey } from '../../api/keys'
import type { Member, Role } from '../../api/members'

export const ROLES: { value: Role; label: string; meaning: string }[] = [
  { value: 'member', label: 'Member', meaning: 'Works in the workspaces they are added to' },
  { value: 'admin', label: 'Administrator', meaning: 'Manages people, keys and limits in every workspace' },
]

export const roleName = (role: Role) => ROLES.find((one) => one.value === role)?.label ?? role

/** Why a member can be neither removed nor demoted; undefined if both are possible. */
export function whyLastAdmin(member: Member, members: readonly Member[]): string | undefined {
  const isLast = member.role === 'admin' && members.filter((one) => one.role === 'admin').length === 1
  return isLast ? 'An organization needs at least one administrator' : undefined
}

/** Keys that work or could be enabled again. */
export const usableKeys = <K extends Pick<OrganizationKey, 'state'>>(keys: readonly K[]): K[] =>
  keys.filter(({ state }) => state === 'active' || state === 'disabled')

type Named = { id: string; name: string }

/** Names of the member's workspaces; those the user cannot see are counted. */
export function workspaceNames(member: Pick<Member, 'role' | 'workspaceIds'>, workspaces: readonly Named[]): string {
  if (member.role === 'admin') return 'All workspaces'
  const known = workspaces.filter(({ id }) => member.workspaceIds.includes(id)).map(({ name }) => name)
  const hidden = member.workspaceIds.length - known.length
  const parts = hidden > 0 ? [...known, `${hidden} other${hidden === 1 ? '' : 's'}`] : known
  return parts.join(', ') || 'None yet'
}

/** Workspaces to add a member to, and those to remove them from. */
export function membershipChanges(before: readonly string[], after: readonly string[]) {
  return { added: after.filter((id) => !before.includes(id)), removed: before.filter((id) => !after.includes(id)) }
}

/** Why these are not the workspaces of a person: a user belongs to one or more workspaces, and administrators to all. */
export const whyNoWorkspace = (role: Role, workspaceIds: readonly string[]) =>
  role === 'member' && workspaceIds.length === 0 ? 'A member belongs to at least one workspace' : undefined

/** The workspaces of a new member: the only one of the organization until others are chosen. Administrators belong to all. */
export function workspacesOf(role: Role, chosen: string[] | undefined, all: readonly { id: string }[]): string[] {
  if (role === 'admin') return []
  return chosen ?? (all.length === 1 ? all.map(({ id }) => id) : [])
}

/** For the operator, who adds members to an organization but to none of its workspaces. */
export const noWorkspaceYet = (role: Role) =>
  role === 'member' ? 'A member can do nothing until an administrator adds them to a workspace' : undefined

/** How an entry is asked for and read. */

import type { AuditEntry, AuditFilter } from '../../api/audit'
import { day, oneOf, text, type Values } from '../../ui/filters'

export const FILTERS = {
  actor: text(),
  action: text(),
  subject: text(),
  from: day(),
  to: day(),
  scope: oneOf(['organization', 'platform']),
  entry: text(),
}
export type Chosen = Values<typeof FILTERS>

const DAY_MS = 86_400_000

/** Days are whole days in UTC; the last one is in it. */
export function filterOf({ actor, action, subject, from, to }: Omit<Chosen, 'scope' | 'entry'>): AuditFilter {
  const orNothing = (value: string) => value.trim() || undefined
  return {
    actor: orNothing(actor),
    action: orNothing(action),
    subject: orNothing(subject),
    from: from ? `${from}T00:00:00Z` : undefined,
    to: to ? new Date(Date.parse(to) + DAY_MS).toISOString() : undefined,
  }
}

export const isFiltered = (chosen: Chosen) => Object.values(filterOf(chosen)).some((value) => value !== undefined)

export type Change = { member: string; before: string | undefined; after: string | undefined }
type Members = Record<string, unknown>

/** What an entry changed, member by member; what stayed is left out, and null is nothing. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const [was, is] = [(before ?? {}) as Members, (after ?? {}) as Members]
  const members = [...new Set([...Object.keys(was), ...Object.keys(is)])]
  return members
    .map((member) => ({ member, before: shown(was[member]), after: shown(is[member]) }))
    .filter((change) => change.before !== change.after)
}

/** Who did it, in a word that people know. */
export function actorOf({ actor, actorEmail, actorKeyName }: AuditEntry): string {
  return actorEmail ?? (actorKeyName ? `Key ${actorKeyName}` : actor)
}

/** What an entry is about, in a word that people know: what it says, or the name in its record. */
export function aboutOf({ detail, before, after }: Pick<AuditEntry, 'detail' | 'before' | 'after'>): string {
  if (detail) return detail
  const record = { ...(before as Members | null), ...(after as Members | null) }
  const name = record.name ?? record.email
  return typeof name === 'string' ? name : '–'
}

function shown(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Actions that there are, for a choice; others can come from newer servers. */
export const ACTIONS = [
  'allotment.set',
  'endpoint.created',
  'endpoint.deleted',
  'endpoint.resumed',
  'endpoint.scaled',
  'endpoint.suspended',
  'endpoint.updated',
  'invitation.accept',
  'invitation.create',
  'invitation.delete',
  'key.create',
  'key.disable',
  'key.enable',
  'key.expire',
  'key.revoke',
  'key.rotate',
  'member.remove',
  'member.set-role',
  'organization.create',
  'organization.delete',
  'organization.rename',
  'session.create',
  'session.end',
  'session.set-context',
  'user.change-password',
  'user.create',
  'user.delete',
  'user.leave',
  'user.reset-password',
  'user.set-operator',
  'user.set-role',
  'workspace.add-member',
  'workspace.create',
  'workspace.delete',
  'workspace.remove-member',
  'workspace.set',
]

/** Filters of the audit log, and how its entries are displayed. */

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
export type AuditFilterValues = Values<typeof FILTERS>

const DAY_MS = 86_400_000

/** API filter for whole days in UTC; the last day is included. */
export function filterOf({
  actor,
  action,
  subject,
  from,
  to,
}: Omit<AuditFilterValues, 'scope' | 'entry'>): AuditFilter {
  const orUndefined = (value: string) => value.trim() || undefined
  return {
    actor: orUndefined(actor),
    action: orUndefined(action),
    subject: orUndefined(subject),
    from: from ? `${from}T00:00:00Z` : undefined,
    to: to ? new Date(Date.parse(to) + DAY_MS).toISOString() : undefined,
  }
}

export const isFiltered = (filters: AuditFilterValues) =>
  Object.values(filterOf(filters)).some((value) => value !== undefined)

export type Change = { member: string; before: string | undefined; after: string | undefined }
type Json = Record<string, unknown>

/** Changed members of the record. Null counts as absent. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const [was, is] = [(before ?? {}) as Json, (after ?? {}) as Json]
  const members = [...new Set([...Object.keys(was), ...Object.keys(is)])]
  return members
    .map((member) => ({ member, before: valueText(was[member]), after: valueText(is[member]) }))
    .filter((change) => change.before !== change.after)
}

/** Display name of the actor: email, key name, or id. */
export function actorOf({ actor, actorEmail, actorKeyName }: AuditEntry): string {
  return actorEmail ?? (actorKeyName ? `Key ${actorKeyName}` : actor)
}

/** One-line summary of an entry: its detail, or the name in its record. */
export function summaryOf({ detail, before, after }: Pick<AuditEntry, 'detail' | 'before' | 'after'>): string {
  if (detail) return detail
  const record = { ...(before as Json | null), ...(after as Json | null) }
  const name = record.name ?? record.email
  return typeof name === 'string' ? name : '–'
}

function valueText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Known actions, as suggestions; newer servers may have others. */
export const ACTIONS = [
  'allotment.set',
  'batch.cancel',
  'batch.create',
  'batch.delete',
  'endpoint.created',
  'endpoint.deleted',
  'endpoint.resumed',
  'endpoint.scaled',
  'endpoint.suspended',
  'endpoint.updated',
  'file.delete',
  'invitation.accept',
  'invitation.create',
  'invitation.delete',
  'key.create',
  'key.disable',
  'key.enable',
  'key.expire',
  'key.revoke',
  'key.rotate',
  'member.keep-last-admin',
  'member.remove',
  'member.set-role',
  'organization.create',
  'organization.delete',
  'organization.rename',
  'organization.set',
  'session.create',
  'session.end',
  'session.set-context',
  'user.change-password',
  'user.create',
  'user.delete',
  'user.leave',
  'user.reset-password',
  'user.set-email-proven',
  'user.set-operator',
  'user.set-role',
  'user.take-over',
  'workspace.add-member',
  'workspace.delete-alias',
  'workspace.set-alias',
  'workspace.create',
  'workspace.delete',
  'workspace.remove-member',
  'workspace.set',
]

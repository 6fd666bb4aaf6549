/** Bounds of an organization as form values. */

import type { OperatorOrganization, OrganizationEdit } from '../../../api/operator/organizations'
import { formatMoney, formatNano, nanoUsd } from '../../../ui/format'

const NAMES = ['maxWorkspaces', 'monthlyTokens'] as const

/** Undefined stands for the configured default, or for no bound of tokens; an empty amount for no bound of dollars. */
export type Bounds = Record<(typeof NAMES)[number], number | undefined> & { monthlyUsd: string }

export const boundsOf = (organization: OperatorOrganization): Bounds => ({
  maxWorkspaces: organization.maxWorkspaces,
  monthlyTokens: organization.monthlyTokens ?? undefined,
  monthlyUsd: organization.monthlyUsd ?? '',
})

/** Only what was changed. */
export function boundsEdit(organization: OperatorOrganization, bounds: Bounds): OrganizationEdit {
  const before = boundsOf(organization)
  const edit: OrganizationEdit = {}
  for (const name of NAMES) {
    if (bounds[name] !== before[name]) edit[name] = bounds[name] ?? null
  }
  const usd = bounds.monthlyUsd.trim()
  if (usd !== before.monthlyUsd) edit.monthlyUsd = usd || null
  return edit
}

/** What was used of the budget this month, and what is left; undefined if that is not known. */
export function spentOf(usedUsd: string | undefined, { monthlyUsd }: Pick<OperatorOrganization, 'monthlyUsd'>) {
  if (usedUsd === undefined) return undefined
  const used = `${formatMoney(usedUsd)} used this month`
  const left = (nanoUsd(monthlyUsd ?? '') ?? 0n) - (nanoUsd(usedUsd) ?? 0n)
  return monthlyUsd ? `${used}, ${formatNano(left > 0n ? left : 0n)} left` : used
}

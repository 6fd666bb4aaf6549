/** Bounds of an organization as form values. */

import type { OperatorOrganization, OrganizationEdit } from '../../../api/operator/organizations'

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

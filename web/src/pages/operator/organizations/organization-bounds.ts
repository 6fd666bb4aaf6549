/** Bounds of an organization as form values. */

import type { OperatorOrganization, OrganizationEdit } from '../../../api/operator/organizations'

const NAMES = ['maxWorkspaces', 'monthlyTokens'] as const

/** Undefined stands for the configured default, or for no bound of tokens. */
export type Bounds = Record<(typeof NAMES)[number], number | undefined>

export const boundsOf = (organization: OperatorOrganization): Bounds => ({
  maxWorkspaces: organization.maxWorkspaces,
  monthlyTokens: organization.monthlyTokens ?? undefined,
})

/** Only what was changed. */
export function boundsEdit(organization: OperatorOrganization, bounds: Bounds): OrganizationEdit {
  const before = boundsOf(organization)
  const edit: OrganizationEdit = {}
  for (const name of NAMES) {
    if (bounds[name] !== before[name]) edit[name] = bounds[name] ?? null
  }
  return edit
}

/** What the operator allows an organization, in words. */

import type { Organization } from '../../api/organizations'
import { formatBytes, formatCount, formatMoney } from '../../ui/format'

export type Bound = { label: string; value: string; note?: string }

const NONE = 'No limit'

/** `workspaces` is the number of those that there are. */
export function boundsOf(organization: Organization, workspaces: number): Bound[] {
  const count = (value: number | null | undefined) => (value == null ? NONE : formatCount(value))
  const { operatorMonthlyUsd: usd } = organization
  return [
    {
      label: 'Workspaces',
      value: formatCount(organization.maxWorkspaces),
      note: `${formatCount(workspaces)} in use`,
    },
    { label: 'Tokens per month', value: count(organization.monthlyTokens) },
    { label: 'Requests per minute', value: count(organization.requestsPerMinute) },
    { label: 'Tokens per minute', value: count(organization.tokensPerMinute) },
    { label: 'Stored responses and files', value: formatBytes(organization.maxStoredBytes) },
    { label: 'USD per month', value: usd ? formatMoney(usd) : NONE },
  ]
}

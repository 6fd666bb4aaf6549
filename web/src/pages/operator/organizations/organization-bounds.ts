/** Bounds of an organization as form values, and what is used of them. */

import type { Consumer } from '../../../api/operator/installation'
import type { OperatorOrganization, OrganizationEdit } from '../../../api/operator/organizations'
import { formatCount, formatMoney, formatNano, nanoUsd } from '../../../ui/format'
import { tokensOf } from './month-usage'

const GIB = 2 ** 30

/** `unit` is what one of the field means in the API. Without a bound `unbounded` applies. */
export const BOUNDS = [
  { name: 'maxWorkspaces', label: 'Workspaces', unbounded: 'Platform default', unit: 1 },
  { name: 'monthlyTokens', label: 'Tokens per month', unbounded: 'No limit', unit: 1 },
  { name: 'requestsPerMinute', label: 'Requests per minute', unbounded: 'No limit', unit: 1 },
  { name: 'tokensPerMinute', label: 'Tokens per minute', unbounded: 'No limit', unit: 1 },
  { name: 'maxStoredBytes', label: 'Stored responses, GiB', unbounded: 'Platform default', unit: GIB },
] as const

export type BoundName = (typeof BOUNDS)[number]['name']

/** Undefined stands for no bound of its own, as does an empty amount. */
export type Bounds = Record<BoundName, number | undefined> & { monthlyUsd: string }

export const NO_BOUNDS: Bounds = {
  maxWorkspaces: undefined,
  monthlyTokens: undefined,
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  maxStoredBytes: undefined,
  monthlyUsd: '',
}

export function boundsOf(organization: OperatorOrganization): Bounds {
  const bounds = { ...NO_BOUNDS, monthlyUsd: organization.monthlyUsd ?? '' }
  for (const { name, unit } of BOUNDS) bounds[name] = divided(organization[name], unit)
  return bounds
}

const divided = (value: number | null | undefined, unit: number) => (value == null ? undefined : value / unit)

/** Only what was changed. */
export function boundsEdit(before: Bounds, bounds: Bounds): OrganizationEdit {
  const edit: OrganizationEdit = {}
  for (const { name, unit } of BOUNDS) {
    const value = bounds[name]
    if (value !== before[name]) edit[name] = value === undefined ? null : Math.round(value * unit)
  }
  const usd = bounds.monthlyUsd.trim()
  if (usd !== before.monthlyUsd) edit.monthlyUsd = usd || null
  return edit
}

/** What is used of each bound; `usage` is that of this month, undefined until it is loaded, null if there is none. */
export function usedOf(
  { workspaces, monthlyUsd }: Pick<OperatorOrganization, 'workspaces' | 'monthlyUsd'>,
  usage: Consumer | null | undefined,
): Partial<Record<keyof Bounds, string>> {
  const used = { maxWorkspaces: `${formatCount(workspaces)} in use` }
  if (usage === undefined) return used
  return {
    ...used,
    monthlyTokens: `${formatCount(usage ? tokensOf(usage) : 0)} used this month`,
    monthlyUsd: spentOf(usage?.costUsd ?? '0', monthlyUsd),
  }
}

/** What was used of the budget this month, and what is left. */
function spentOf(usedUsd: string, monthlyUsd: string | null | undefined) {
  const used = `${formatMoney(usedUsd)} used this month`
  const left = (nanoUsd(monthlyUsd ?? '') ?? 0n) - (nanoUsd(usedUsd) ?? 0n)
  return monthlyUsd ? `${used}, ${formatNano(left > 0n ? left : 0n)} left` : used
}

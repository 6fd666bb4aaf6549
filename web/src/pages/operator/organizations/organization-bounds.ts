/** Bounds of an organization as form values, and what is used of them. */

import type { OperatorOrganization, OrganizationEdit } from '../../../api/operator/organizations'
import { formatBytes, formatCount, formatMoney, formatNano, formatShare, nanoUsd } from '../../../ui/format'
import { leftOfUsd, shareOf, shareOfUsd } from '../../../ui/use-share'

const GIB = 2 ** 30

/** `unit` is what one of the field means in the API. Without a bound `unbounded` applies. */
export const BOUNDS = [
  { name: 'maxWorkspaces', label: 'Workspaces', unbounded: 'Platform default', unit: 1 },
  { name: 'monthlyTokens', label: 'Tokens per month', unbounded: 'No limit', unit: 1 },
  { name: 'requestsPerMinute', label: 'Requests per minute', unbounded: 'No limit', unit: 1 },
  { name: 'tokensPerMinute', label: 'Tokens per minute', unbounded: 'No limit', unit: 1 },
  { name: 'maxStoredBytes', label: 'Stored responses and files, GiB', unbounded: 'Platform default', unit: GIB },
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

/** A bound and what is used of it. Without `share` there is no bound. */
export type BoundUse = { name: keyof Bounds; label: string; used: string; note: string; share?: number }

/** Nodes reserve some of what is left for their calls. */
type Use = { used: number; reserved?: number; bound: number | null | undefined; format?: (value: number) => string }

/** What is used of each bound. */
export function usesOf(organization: OperatorOrganization): BoundUse[] {
  const { usedPerMinute, usedPerMonth } = organization
  if (!usedPerMinute || !usedPerMonth) return [] // from a node that is not upgraded yet
  const uses: Record<BoundName, Use> = {
    maxWorkspaces: { used: organization.workspaces, bound: organization.maxWorkspaces },
    monthlyTokens: {
      used: usedPerMonth.tokens,
      reserved: usedPerMonth.reservedTokens,
      bound: organization.monthlyTokens,
    },
    requestsPerMinute: { used: usedPerMinute.requests, bound: organization.requestsPerMinute },
    tokensPerMinute: { used: usedPerMinute.tokens, bound: organization.tokensPerMinute },
    maxStoredBytes: { used: organization.storedBytes, bound: organization.maxStoredBytes, format: formatBytes },
  }
  const spent = { name: 'monthlyUsd' as const, label: 'USD per month', ...spentOf(organization) }
  return [
    spent,
    ...BOUNDS.map(({ name, label }) => ({ name, label: label.split(',')[0] ?? label, ...shown(uses[name]) })),
  ]
}

const UNBOUNDED = 'no limit'

function shown({ used, reserved = 0, bound, format = formatCount }: Use): Omit<BoundUse, 'name' | 'label'> {
  if (bound == null) return { used: `${format(used)} used`, note: UNBOUNDED }
  const share = shareOf(used, bound)
  const ofNodes = reserved ? `, ${format(reserved)} reserved` : ''
  const text = `${format(used)} of ${format(bound)} used (${formatShare(share)})${ofNodes}`
  return { share, used: text, note: `${format(Math.max(0, bound - used))} left` }
}

/** What was used of the budget this month, and what is left. Without any budget it is not counted. */
function spentOf({ usedPerMonth, monthlyUsd }: OperatorOrganization): Omit<BoundUse, 'name' | 'label'> {
  const { usd: usedUsd, reservedUsd } = usedPerMonth
  if (usedUsd == null) return { used: 'not counted', note: UNBOUNDED }
  if (!monthlyUsd) return { used: `${formatMoney(usedUsd)} used`, note: UNBOUNDED }
  const share = shareOfUsd(usedUsd, monthlyUsd)
  const reserved = reservedUsd && nanoUsd(reservedUsd) ? `, ${formatMoney(reservedUsd)} reserved` : ''
  const text = `${formatMoney(usedUsd)} of ${formatMoney(monthlyUsd)} used (${formatShare(share)})${reserved}`
  return { share, used: text, note: `${formatNano(leftOfUsd(usedUsd, monthlyUsd))} left` }
}

/** Budgets of a key, as rows of its form and as text. */

import type { Budget, BudgetSpending } from '../../api/keys'
import { formatMinute, formatMoney, nanoUsd } from '../../ui/format'
import { isNearLimit, shareOf } from '../../ui/use-share'

/** `usd` and `raiseUsd` are typed amounts; a raise without one does not exist. */
export type BudgetRow = { window: Budget['window']; usd: string; soft: boolean; raiseUsd: string; raiseUntil: string }

export const WINDOWS = [
  { value: 'day', label: 'Per day' },
  { value: 'month', label: 'Per month' },
  { value: 'total', label: 'In total' },
] as const

/** One of each window, and one that is soft. */
export const MAX_BUDGETS = 2 * WINDOWS.length

export const rowsOf = (budgets: Budget[]): BudgetRow[] =>
  budgets.map(({ window, usd, soft, raise }) => ({
    window,
    usd,
    soft: soft ?? false,
    raiseUsd: raise?.usd ?? '',
    raiseUntil: raise?.until ?? '',
  }))

export const toBudgets = (rows: BudgetRow[]): Budget[] =>
  rows.map(({ window, usd, soft, raiseUsd, raiseUntil }) => ({
    window,
    usd: usd.trim(),
    soft,
    ...(raiseUsd.trim() && raiseUntil ? { raise: { usd: raiseUsd.trim(), until: raiseUntil } } : {}),
  }))

/** The next budget that a key can have. */
export function nextRow(rows: BudgetRow[]): BudgetRow {
  const has = (window: string, soft: boolean) => rows.some((row) => row.window === window && row.soft === soft)
  const empty = { usd: '', raiseUsd: '', raiseUntil: '' }
  for (const soft of [false, true])
    for (const window of ['month', 'day', 'total'] as const) if (!has(window, soft)) return { window, soft, ...empty }
  return { window: 'month', soft: true, ...empty }
}

/** An amount has been typed, and a raise is complete. */
export const isBudget = ({ usd, raiseUsd, raiseUntil }: BudgetRow) =>
  nanoUsd(usd) !== undefined && (raiseUsd.trim() ? nanoUsd(raiseUsd) !== undefined && !!raiseUntil : !raiseUntil)

export const windowLabel = (window: Budget['window']) => WINDOWS.find(({ value }) => value === window)?.label ?? window

/** Says that a raise is in force: `spending` has another amount than the budget. */
export const raiseText = ({ usd, raise }: Budget, spending: Pick<BudgetSpending, 'usd'>) =>
  raise && nanoUsd(spending.usd) !== nanoUsd(usd)
    ? `Raised from ${formatMoney(usd)} until ${formatMinute(raise.until)}`
    : undefined

/** What a budget does to calls now; undefined while it does nothing. */
export function effectOf({ soft, usd, usedUsd, reservedUsd, exceeded }: BudgetSpending): string | undefined {
  if (soft) return exceeded ? 'Exceeded; calls continue.' : undefined
  if (exceeded) return 'Calls that cost anything are rejected with budget_exceeded.'
  const taken = (nanoUsd(usedUsd) ?? 0n) + (nanoUsd(reservedUsd) ?? 0n)
  const isNear = isNearLimit(shareOf(Number(taken), Number(nanoUsd(usd) ?? 0n)))
  return isNear ? 'Calls that may cost more than what is left are rejected.' : undefined
}

/** The budgets of a key in one line; undefined if it has none. */
export const budgetsText = (budgets: Budget[]) =>
  budgets.length
    ? budgets
        .map(({ window, usd, soft }) => {
          const amount = formatMoney(usd)
          const text = window === 'total' ? `${amount} in total` : `${amount} per ${window}`
          return soft ? `${text} (soft)` : text
        })
        .join(', ')
    : undefined

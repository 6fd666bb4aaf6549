import { describe, expect, it } from 'vitest'
import { budgetsText, isBudget, nextRow, rowsOf, toBudgets, usedShare } from './budgets'

const raise = { usd: '40.00', until: '2026-12-01T00:00:00Z' }

describe('budgets of a key', () => {
  it('are the same after a form', () => {
    const budgets = [
      { window: 'month' as const, usd: '25.00', soft: false, raise },
      { window: 'total' as const, usd: '9.00', soft: true },
    ]
    expect(toBudgets(rowsOf(budgets))).toEqual(budgets)
    expect(budgetsText(budgets)).toBe('$25.00 per month, $9.00 in total (soft)')
    expect(budgetsText([])).toBeUndefined()
  })

  it('have each window once, and once more if it is soft', () => {
    const rows = [0, 1, 2, 3, 4, 5].reduce<ReturnType<typeof rowsOf>>((all) => [...all, nextRow(all)], [])
    expect(new Set(rows.map(({ window, soft }) => `${window} ${soft}`)).size).toBe(6)
  })

  it('need an amount, and a raise an end', () => {
    const row = { window: 'day' as const, usd: '2', soft: false, raiseUsd: '', raiseUntil: '' }
    const rows = [
      row,
      { ...row, usd: 'x' },
      { ...row, raiseUsd: '3' },
      { ...row, raiseUsd: '3', raiseUntil: raise.until },
    ]
    expect(rows.map(isBudget)).toEqual([true, false, false, true])
  })

  it('show what is used of them', () => {
    expect(usedShare({ usd: '2.00', usedUsd: '0.50' })).toBe(0.25)
    expect(usedShare({ usd: '0.00', usedUsd: '0.00' })).toBe(1)
  })
})

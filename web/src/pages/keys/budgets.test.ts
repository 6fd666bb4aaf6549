import { describe, expect, it } from 'vitest'
import { budgetsText, effectOf, isBudget, nextRow, raiseText, rowsOf, toBudgets } from './budgets'

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

  it('say what they do to calls, also near the cap', () => {
    const spent = { window: 'day' as const, soft: false, usd: '10', usedUsd: '2', reservedUsd: '3', exceeded: false }
    const effect = (change: object) => effectOf({ ...spent, ...change } as Parameters<typeof effectOf>[0])
    expect(effect({})).toBeUndefined()
    expect(effect({ reservedUsd: '6.5' })).toMatch(/may cost more than what is left/)
    expect(effect({ exceeded: true })).toMatch(/budget_exceeded/)
    expect([effect({ soft: true, reservedUsd: '6.5' }), effect({ soft: true, exceeded: true })]).toEqual([
      undefined,
      'Exceeded; calls continue.',
    ])
  })

  it('say until when they are raised, while they are', () => {
    const budget = { window: 'month' as const, usd: '25', soft: false, raise }
    expect(raiseText(budget, { usd: '40.00' })).toMatch(/^Raised from \$25\.00 until (30 Nov|1 Dec) 2026/)
    expect(raiseText(budget, { usd: '25.00' })).toBeUndefined()
    expect(raiseText({ ...budget, raise: undefined }, { usd: '25.00' })).toBeUndefined()
  })
})

import { describe, expect, it } from 'vitest'
import type { Workspace } from '../../api/workspaces'
import { compareThree, editOf, isChanged, merge, type Settings, settingsOf, undecided } from './limits'

const base: Settings = {
  name: 'Team',
  requestsPerMinute: 100,
  tokensPerMinute: 1_000,
  monthlyTokens: 5_000,
  maxApiKeys: 10,
  monthlyUsd: null,
  onBudget: 'continue',
}

describe('conflicting edits of settings', () => {
  const theirs = { ...base, requestsPerMinute: 80, monthlyTokens: 4_000 }
  const mine = { ...base, requestsPerMinute: 60, maxApiKeys: null }

  it('sends only changed values, with the original version', () => {
    expect(editOf(base, mine, 3)).toEqual({ requestsPerMinute: 60, maxApiKeys: null, version: 3 })
    expect(isChanged(base, { ...base })).toBe(false)
  })

  it('compares three values and detects conflicts', () => {
    expect(compareThree(base, theirs, mine).map(({ name, isClash }) => [name, isClash])).toEqual([
      ['requestsPerMinute', true],
      ['monthlyTokens', false],
      ['maxApiKeys', false],
    ])
    const same = compareThree(base, { ...base, name: 'New' }, { ...base, name: 'New' })
    expect(same).toMatchObject([{ name: 'name', isClash: false }])
  })

  it('merges one-sided changes and applies the choice to conflicts', () => {
    const expected = { ...base, monthlyTokens: 4_000, maxApiKeys: null }
    expect(merge(base, theirs, mine, { requestsPerMinute: 'mine' })).toEqual({ ...expected, requestsPerMinute: 60 })
    expect(merge(base, theirs, mine, { requestsPerMinute: 'theirs' })).toEqual({ ...expected, requestsPerMinute: 80 })
  })

  it('lists conflicts without a choice', () => {
    const lines = compareThree(base, theirs, mine)
    expect(undecided(lines, {}).map(({ name }) => name)).toEqual(['requestsPerMinute'])
    expect(undecided(lines, { requestsPerMinute: 'theirs' })).toEqual([])
  })
})

describe('the monthly budget of a workspace', () => {
  const budget = (monthlyUsd: string | null, operatorMonthlyUsd: string | null) => {
    const workspace = { ...base, monthlyUsd, operatorMonthlyUsd } as unknown as Workspace
    return [settingsOf(workspace, false).monthlyUsd, settingsOf(workspace, true).monthlyUsd]
  }

  it('is that of the administrators for them, and the operator’s for the operator', () => {
    expect(budget('50.00', '500.00')).toEqual(['50.00', '500.00'])
    expect(budget('50.00', null)).toEqual(['50.00', null])
    expect(budget('500.00', '500.00'), 'only the operator’s applies').toEqual([null, '500.00'])
    expect(budget(null, null)).toEqual([null, null])
  })

  it('is sent if it was changed, and removed if it was emptied', () => {
    const limited = { ...base, monthlyUsd: '50.00' }
    expect(editOf(limited, { ...limited, monthlyUsd: null }, 3)).toEqual({ monthlyUsd: null, version: 3 })
    expect(editOf(base, { ...base, monthlyUsd: '20' }, 3)).toEqual({ monthlyUsd: '20', version: 3 })
  })
})

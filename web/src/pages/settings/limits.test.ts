import { describe, expect, it } from 'vitest'
import { compareThree, editOf, isChanged, merge, type Settings, undecided } from './limits'

const base: Settings = {
  name: 'Team',
  requestsPerMinute: 100,
  tokensPerMinute: 1_000,
  monthlyTokens: 5_000,
  maxApiKeys: 10,
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

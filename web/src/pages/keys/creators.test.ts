import { describe, expect, it } from 'vitest'
import { creatorOf, creatorOptions, REMOVED, selectionOf } from './creators'

const members = [
  { userId: 'usr_a', email: 'ada@example.com' },
  { userId: 'usr_b', email: 'bob@example.com' },
]
const keys = [{ createdBy: 'usr_a' }, { createdBy: 'usr_gone' }, { createdBy: null }]

describe('creators of keys', () => {
  it('are members, removed members, or none', () => {
    expect(keys.map((key) => creatorOf(key, members))).toEqual([
      { kind: 'member', email: 'ada@example.com' },
      { kind: 'removed', id: 'usr_gone' },
      { kind: 'none' },
    ])
  })

  it('can be chosen, also when they are gone', () => {
    expect(creatorOptions(members)).toEqual([
      { value: 'usr_a', label: 'ada@example.com' },
      { value: 'usr_b', label: 'bob@example.com' },
      { value: REMOVED, label: 'Removed members' },
    ])
  })

  it('select keys', () => {
    expect(selectionOf('usable', '')).toEqual({ counted: true })
    expect(selectionOf('all', '')).toEqual({})
    expect(selectionOf('usable', 'usr_a')).toEqual({ counted: true, createdBy: 'usr_a' })
    expect(selectionOf('all', REMOVED)).toEqual({ removedMembers: true })
  })
})

import { describe, expect, it } from 'vitest'
import { byCreator, creatorOf, creatorOptions, REMOVED } from './creators'

const members = [
  { userId: 'usr_a', email: 'ada@example.com' },
  { userId: 'usr_b', email: 'bob@example.com' },
]
const keys = [
  { name: 'own', createdBy: 'usr_a' },
  { name: 'left', createdBy: 'usr_gone' },
  { name: 'shell', createdBy: null },
]
const names = (creator: string) => byCreator(keys, creator, members).map(({ name }) => name)

describe('creators of keys', () => {
  it('are members, removed members, or none', () => {
    expect(keys.map((key) => creatorOf(key, members))).toEqual([
      { kind: 'member', email: 'ada@example.com' },
      { kind: 'removed', id: 'usr_gone' },
      { kind: 'none' },
    ])
  })

  it('can be chosen if they created a key', () => {
    expect(creatorOptions(keys, members)).toEqual([
      { value: 'usr_a', label: 'ada@example.com' },
      { value: REMOVED, label: 'Removed members' },
    ])
    expect(creatorOptions(keys.slice(0, 1), members)).toHaveLength(1)
  })

  it('filter the keys', () => {
    expect(names('')).toEqual(['own', 'left', 'shell'])
    expect(names('usr_a')).toEqual(['own'])
    expect(names('usr_b')).toEqual([])
    expect(names(REMOVED)).toEqual(['left'])
  })
})

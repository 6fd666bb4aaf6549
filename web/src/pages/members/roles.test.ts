import { describe, expect, it } from 'vitest'
import type { Member, Role } from '../../api/members'
import { moves, placesOf, whyStays } from './roles'

const one = (userId: string, role: Role, workspaceIds: string[] = []): Member => ({
  userId,
  role,
  email: userId,
  workspaceIds,
})

describe('members', () => {
  it('keep the last administrator', () => {
    const [admin, member] = [one('a', 'admin'), one('m', 'member')]
    expect(whyStays(admin, [admin, member])).toMatch(/at least one administrator/)
    expect(whyStays(admin, [admin, one('b', 'admin')])).toBeUndefined()
    expect(whyStays(member, [admin, member])).toBeUndefined()
  })

  it('belong to workspaces by name; administrators to all', () => {
    const workspaces = [{ id: 'w1', name: 'Search' }]
    expect(placesOf(one('a', 'admin'), workspaces)).toBe('All workspaces')
    expect(placesOf(one('m', 'member', ['w1', 'w2']), workspaces)).toBe('Search, 1 other')
    expect(placesOf(one('m', 'member', ['w2', 'w3']), workspaces)).toBe('2 others')
    expect(placesOf(one('m', 'member'), workspaces)).toBe('None yet')
  })

  it('move between workspaces by what changed', () => {
    expect(moves(['a', 'b'], ['b', 'c'])).toEqual({ put: ['c'], take: ['a'] })
  })
})

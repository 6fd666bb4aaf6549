import { describe, expect, it } from 'vitest'
import type { Member, Role } from '../../api/members'
import { membershipChanges, usableKeys, whyLastAdmin, whyNoWorkspace, workspaceNames, workspacesOf } from './roles'

const one = (userId: string, role: Role, workspaceIds: string[] = []): Member => ({
  userId,
  role,
  email: userId,
  workspaceIds,
})

describe('members', () => {
  it('cannot lose the last administrator', () => {
    const [admin, member] = [one('a', 'admin'), one('m', 'member')]
    expect(whyLastAdmin(admin, [admin, member])).toMatch(/at least one administrator/)
    expect(whyLastAdmin(admin, [admin, one('b', 'admin')])).toBeUndefined()
    expect(whyLastAdmin(member, [admin, member])).toBeUndefined()
  })

  it('are invited to one or more workspaces (SPEC 2.1)', () => {
    expect(whyNoWorkspace('member', [])).toMatch(/at least one workspace/)
    expect(whyNoWorkspace('member', ['w1'])).toBeUndefined()
    expect(whyNoWorkspace('admin', [])).toBeUndefined()
  })

  it('are listed with their workspaces; administrators with all', () => {
    const workspaces = [{ id: 'w1', name: 'Search' }]
    expect(workspaceNames(one('a', 'admin'), workspaces)).toBe('All workspaces')
    expect(workspaceNames(one('m', 'member', ['w1', 'w2']), workspaces)).toBe('Search, 1 other')
    expect(workspaceNames(one('m', 'member', ['w2', 'w3']), workspaces)).toBe('2 others')
    expect(workspaceNames(one('m', 'member'), workspaces)).toBe('None yet')
  })

  it('are put into the only workspace of an organization until others are chosen', () => {
    const [one, two] = [{ id: 'w1' }, { id: 'w2' }]
    expect(workspacesOf('member', undefined, [one])).toEqual(['w1'])
    expect(workspacesOf('member', undefined, [one, two])).toEqual([])
    expect(workspacesOf('member', [], [one])).toEqual([])
    expect(workspacesOf('member', ['w2'], [one, two])).toEqual(['w2'])
    expect(workspacesOf('admin', ['w2'], [one, two])).toEqual([])
  })

  it('have keys that work or could be enabled again', () => {
    const keys = (['active', 'revoked', 'disabled', 'expired'] as const).map((state) => ({ state }))
    expect(usableKeys(keys).map(({ state }) => state)).toEqual(['active', 'disabled'])
  })

  it('are added to and removed from changed workspaces only', () => {
    expect(membershipChanges(['a', 'b'], ['b', 'c'])).toEqual({ added: ['c'], removed: ['a'] })
  })
})

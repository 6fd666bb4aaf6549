import { describe, expect, it } from 'vitest'
import type { OperatorOrganization } from '../../../api/operator/organizations'
import { boundsEdit, boundsOf, spentOf } from './organization-bounds'

const organization: OperatorOrganization = {
  id: 'org_1',
  name: 'Acme',
  createdAt: '2026-11-01T00:00:00Z',
  workspaces: 2,
  maxWorkspaces: 20,
  monthlyTokens: null,
  monthlyUsd: '9.00',
  maxStoredBytes: 1024,
  members: 1,
  allotments: [],
}

describe('bounds of an organization', () => {
  it('are sent if they were changed, and as null if they were emptied', () => {
    expect(boundsEdit(organization, { maxWorkspaces: undefined, monthlyTokens: 5_000, monthlyUsd: ' ' })).toEqual({
      maxWorkspaces: null,
      monthlyTokens: 5_000,
      monthlyUsd: null,
    })
  })

  it('say what is left of the budget', () => {
    expect(spentOf('2.5', organization)).toBe('$2.50 used this month, $6.50 left')
    expect(spentOf('12', organization)).toBe('$12.00 used this month, $0.00 left')
    expect(spentOf('12', { monthlyUsd: null })).toBe('$12.00 used this month')
    expect(spentOf(undefined, organization)).toBeUndefined()
  })

  it('are not sent if nothing was changed', () => expect(boundsEdit(organization, boundsOf(organization))).toEqual({}))
})

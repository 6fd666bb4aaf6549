import { describe, expect, it } from 'vitest'
import type { Consumer } from '../../../api/operator/installation'
import type { OperatorOrganization } from '../../../api/operator/organizations'
import { boundsEdit, boundsOf, NO_BOUNDS, usedOf } from './organization-bounds'

const organization: OperatorOrganization = {
  id: 'org_1',
  name: 'Acme',
  createdAt: '2026-11-01T00:00:00Z',
  workspaces: 2,
  maxWorkspaces: 20,
  monthlyTokens: null,
  requestsPerMinute: null,
  tokensPerMinute: 60_000,
  monthlyUsd: '9.00',
  maxStoredBytes: 1_610_612_736,
  members: 1,
  allotments: [],
}
const usage = (costUsd: string) => ({ costUsd, promptTokens: 1_200, completionTokens: 34 }) as Consumer

describe('bounds of an organization', () => {
  it('are sent if they were changed, and as null if they were emptied', () => {
    const before = boundsOf(organization)
    expect(before.maxStoredBytes).toBe(1.5)
    const bounds = { ...before, maxWorkspaces: undefined, monthlyTokens: 5_000, maxStoredBytes: 2, monthlyUsd: ' ' }
    expect(boundsEdit(before, bounds)).toEqual({
      maxWorkspaces: null,
      monthlyTokens: 5_000,
      maxStoredBytes: 2_147_483_648,
      monthlyUsd: null,
    })
    expect(boundsEdit(NO_BOUNDS, NO_BOUNDS)).toEqual({})
  })

  it('are not sent if nothing was changed', () => {
    expect(boundsEdit(boundsOf(organization), boundsOf(organization))).toEqual({})
  })

  it('say what is used of them, and what is left of the budget', () => {
    expect(usedOf(organization, undefined)).toEqual({ maxWorkspaces: '2 in use' })
    expect(usedOf(organization, null)).toMatchObject({ monthlyTokens: '0 used this month' })
    expect(usedOf(organization, usage('2.5'))).toEqual({
      maxWorkspaces: '2 in use',
      monthlyTokens: '1,234 used this month',
      monthlyUsd: '$2.50 used this month, $6.50 left',
    })
    expect(usedOf(organization, usage('12')).monthlyUsd).toBe('$12.00 used this month, $0.00 left')
    expect(usedOf({ ...organization, monthlyUsd: null }, usage('12')).monthlyUsd).toBe('$12.00 used this month')
  })
})

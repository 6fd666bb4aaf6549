import { describe, expect, it } from 'vitest'
import type { Consumer } from '../../../api/operator/installation'
import type { OperatorOrganization } from '../../../api/operator/organizations'
import { boundsEdit, boundsOf, NO_BOUNDS, usesOf } from './organization-bounds'

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
  storedBytes: 1_024,
  usedPerMinute: { requests: 3, tokens: 30_000 },
  onBudget: 'continue',
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

  it('say what is used of them, and what is left', () => {
    const used = (usage: Consumer | null | undefined, change: Partial<OperatorOrganization> = {}) =>
      Object.fromEntries(usesOf({ ...organization, ...change }, usage).map(({ name, ...use }) => [name, use]))
    expect(used(usage('2.5'))).toEqual({
      monthlyUsd: { label: 'USD per month', share: 2.5 / 9, used: '$2.50 of $9.00 used (28%)', note: '$6.50 left' },
      maxWorkspaces: { label: 'Workspaces', share: 0.1, used: '2 of 20 used (10%)', note: '18 left' },
      monthlyTokens: { label: 'Tokens per month', used: '1,234 used', note: 'no limit' },
      requestsPerMinute: { label: 'Requests per minute', used: '3 used', note: 'no limit' },
      tokensPerMinute: {
        label: 'Tokens per minute',
        share: 0.5,
        used: '30,000 of 60,000 used (50%)',
        note: '30,000 left',
      },
      maxStoredBytes: {
        label: 'Stored responses',
        share: 1_024 / 1_610_612_736,
        used: '1 KiB of 1.5 GiB used (<0.01%)',
        note: '1.5 GiB left',
      },
    })
    expect(used(usage('12')).monthlyUsd).toMatchObject({ share: 12 / 9, note: '$0.00 left' })
    expect(used(usage('12'), { monthlyUsd: null }).monthlyUsd).toMatchObject({ used: '$12.00 used', note: 'no limit' })
    expect(used(null).monthlyTokens).toMatchObject({ used: '0 used' })
    expect(used(undefined).monthlyUsd).toEqual({ label: 'USD per month' })
  })
})

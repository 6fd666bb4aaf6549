import { describe, expect, it } from 'vitest'
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
  usedPerMonth: { tokens: 1_234, reservedTokens: 100, usd: '2.5', reservedUsd: '0' },
  usage: { requests: 3, tokens: 1_234, costUsd: '2.50' },
  onBudget: 'continue',
  members: 1,
  allotments: [],
}

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

  it('are left out if a node of an older version does not say what is used', () => {
    const { usedPerMonth: _, ...older } = organization
    expect(usesOf(older as OperatorOrganization)).toEqual([])
  })

  it('say what is used of them, and what is left', () => {
    const used = (change: Partial<OperatorOrganization> = {}) =>
      Object.fromEntries(usesOf({ ...organization, ...change }).map(({ name, ...use }) => [name, use]))
    const spent = (usd: string | null, reservedUsd = usd && '0') => ({
      usedPerMonth: { ...organization.usedPerMonth, usd, reservedUsd },
    })
    expect(used()).toEqual({
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
        label: 'Stored responses and files',
        share: 1_024 / 1_610_612_736,
        used: '1 KiB of 1.5 GiB used (<0.01%)',
        note: '1.5 GiB left',
      },
    })
    expect(used(spent('12')).monthlyUsd).toMatchObject({ share: 12 / 9, note: '$0.00 left' })
    expect(used(spent('2.5', '0.5')).monthlyUsd).toMatchObject({
      used: '$2.50 of $9.00 used (28%), $0.50 reserved',
      note: '$6.50 left',
    })
    expect(used({ ...spent('12'), monthlyUsd: null }).monthlyUsd).toMatchObject({ used: '$12.00 used' })
    expect(used({ ...spent(null), monthlyUsd: null }).monthlyUsd).toMatchObject({ used: 'not counted' })
    expect(used({ monthlyTokens: 5_000 }).monthlyTokens).toMatchObject({
      used: '1,234 of 5,000 used (25%), 100 reserved',
      note: '3,766 left',
    })
  })
})

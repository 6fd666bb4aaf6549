import { describe, expect, it } from 'vitest'
import type { Workspace } from '../../../api/operator/organizations'
import { limitsEdit, limitsOf } from './workspace-limits'

const workspace: Workspace = {
  id: 'ws_1',
  organizationId: 'org_1',
  name: 'Team',
  version: 4,
  requestsPerMinute: 100,
  tokensPerMinute: 1_000,
  monthlyTokens: 5_000,
  maxApiKeys: 10,
  defaults: { requestsPerMinute: 600, tokensPerMinute: 200_000, monthlyTokens: 50_000_000, maxApiKeys: 20 },
  onBudget: 'continue',
  endUsers: {},
  weight: 1,
}

describe('limits of a workspace', () => {
  it('are sent if they were changed, and as null if they were emptied', () => {
    const limits = { ...limitsOf(workspace), monthlyTokens: 0, maxApiKeys: undefined, weight: 3 }
    expect(limitsEdit(workspace, limits)).toEqual({ version: 4, monthlyTokens: 0, maxApiKeys: null, weight: 3 })
    expect(limitsEdit(workspace, { ...limitsOf(workspace), weight: undefined })).toEqual({ version: 4 })
  })

  it('have the operator’s budget, not the lower one of the administrators', () => {
    const bounded = { ...workspace, monthlyUsd: '50.00', operatorMonthlyUsd: '500.00' }
    expect(limitsOf(bounded).monthlyUsd).toBe('500.00')
    expect(limitsEdit(bounded, limitsOf(bounded))).toEqual({ version: 4 })
    expect(limitsEdit(bounded, { ...limitsOf(bounded), monthlyUsd: ' ' })).toEqual({ version: 4, monthlyUsd: null })
    expect(limitsEdit(workspace, { ...limitsOf(workspace), monthlyUsd: '9' })).toEqual({ version: 4, monthlyUsd: '9' })
  })

  it('are not sent if nothing was changed', () =>
    expect(limitsEdit(workspace, limitsOf(workspace))).toEqual({ version: 4 }))
})

import { expect, it } from 'vitest'
import type { Organization } from '../../api/organizations'
import { boundsOf } from './organization-bounds'

it('shows administrators what the operator allows, exactly', () => {
  const organization = {
    maxWorkspaces: 20,
    monthlyTokens: 1_234_567,
    requestsPerMinute: null,
    tokensPerMinute: 60_001,
    maxStoredBytes: 4 * 2 ** 30,
    monthlyUsd: '10.00',
    operatorMonthlyUsd: '500.00',
  } as Organization
  const shown = boundsOf(organization, 3).map(({ value, note }) => note ?? value)
  expect(shown).toEqual(['3 in use', '1,234,567', 'No limit', '60,001', '4 GiB', '$500.00'])
})

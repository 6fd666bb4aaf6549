import { describe, expect, it } from 'vitest'
import type { Key } from '../../api/keys'
import { EMPTY, lifetimesFor, limitHint, toEdit, toKey, valuesOf } from './key-values'

const NOW = Date.UTC(2026, 0, 1)
const key = {
  name: 'ci',
  expiresAt: '2026-03-01T00:00:00Z',
  requestsPerMinute: 5,
  tokensPerMinute: null,
  permissions: null,
  allowedModels: ['acme/*'],
  allowedIps: null,
  labels: { team: 'search' },
  budgets: [{ window: 'day', usd: '2.00', soft: false }],
} as Partial<Key> as Key

describe('the forms of a key', () => {
  it('create it with what is set', () => {
    expect(toKey({ ...EMPTY, name: ' ci ', expiry: '7', requestsPerMinute: 60 }, NOW)).toEqual({
      name: 'ci',
      expiresAt: '2026-01-08T00:00:00.000Z',
      requestsPerMinute: 60,
      tokensPerMinute: undefined,
      permissions: ['inference'],
      allowedModels: null,
      allowedIps: null,
      labels: {},
      budgets: [],
    })
  })

  it('keep its expiry unless another one is chosen, and remove what is emptied', () => {
    const values = valuesOf(key)
    expect(lifetimesFor(key.expiresAt)[0]?.value).toBe(values.expiry)
    const kept = {
      permissions: null,
      allowedModels: ['acme/*'],
      allowedIps: null,
      labels: { team: 'search' },
      budgets: key.budgets,
    }
    expect(toEdit(values, NOW)).toEqual({ name: 'ci', requestsPerMinute: 5, tokensPerMinute: null, ...kept })
    expect(
      toEdit({ ...values, expiry: '', requestsPerMinute: undefined, allowedModels: [], labels: [], budgets: [] }, NOW),
    ).toEqual({
      name: 'ci',
      expiresAt: null,
      requestsPerMinute: null,
      tokensPerMinute: null,
      permissions: null,
      allowedModels: null,
      allowedIps: null,
      labels: {},
      budgets: [],
    })
  })

  it('say that a limit above that of the workspace has no effect', () => {
    expect(limitHint(9_999, 600)).toBe('Without effect: the workspace has 600')
    expect([limitHint(600, 600), limitHint(undefined, 600), limitHint(9, undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})

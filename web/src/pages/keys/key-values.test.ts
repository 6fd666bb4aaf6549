import { describe, expect, it } from 'vitest'
import type { Key } from '../../api/keys'
import { EMPTY, lifetimesFor, limitHint, toEdit, toKey, valuesOf } from './key-values'

const NOW = Date.UTC(2026, 0, 1)
const key = {
  name: 'ci',
  expiresAt: '2026-03-01T00:00:00Z',
  requestsPerMinute: 5,
  tokensPerMinute: null,
  limits: { perModel: [{ model: 'acme/big', requestsPerMinute: 2, tokensPerMinute: null }] },
  permissions: null,
  allowedModels: ['acme/*'],
  allowedIps: null,
  labels: { team: 'search' },
  budgets: [{ window: 'day', usd: '2.00', soft: false }],
  trustsEndUser: true,
} as Partial<Key> as Key

describe('the forms of a key', () => {
  it('create it with what is set', () => {
    expect(toKey({ ...EMPTY, name: ' ci ', expiry: '7', requestsPerMinute: 60 }, NOW)).toEqual({
      name: 'ci',
      expiresAt: '2026-01-08T00:00:00.000Z',
      requestsPerMinute: 60,
      tokensPerMinute: undefined,
      limits: { perModel: [] },
      permissions: ['inference'],
      allowedModels: null,
      allowedIps: null,
      labels: {},
      budgets: [],
      trustsEndUser: false,
    })
  })

  it('keep its expiry unless another one is chosen, and remove what is emptied', () => {
    const values = valuesOf(key)
    expect(lifetimesFor(key.expiresAt)[0]?.value).toBe(values.expiry)
    const kept = {
      limits: key.limits,
      permissions: null,
      allowedModels: ['acme/*'],
      allowedIps: null,
      labels: { team: 'search' },
      budgets: key.budgets,
      trustsEndUser: true,
    }
    expect(toEdit(values, NOW)).toEqual({ name: 'ci', requestsPerMinute: 5, tokensPerMinute: null, ...kept })
    expect(
      toEdit(
        {
          ...values,
          expiry: '',
          requestsPerMinute: undefined,
          modelLimits: [],
          allowedModels: [],
          labels: [],
          budgets: [],
        },
        NOW,
      ),
    ).toEqual({
      name: 'ci',
      expiresAt: null,
      requestsPerMinute: null,
      tokensPerMinute: null,
      limits: { perModel: [] },
      permissions: null,
      allowedModels: null,
      allowedIps: null,
      labels: {},
      budgets: [],
      trustsEndUser: true,
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

import { describe, expect, it, vi } from 'vitest'
import type { LoggedRequest } from '../../api/series'
import type { ModelOption } from './model-options'
import { usageOf, usageOfStopped } from './stopped-usage'
import { waitingFor } from './waiting'

const endpoint = (state: string, status: object = {}) =>
  ({
    id: 'dedicated/mine',
    isEndpoint: true,
    endpoint: {
      name: 'mine',
      state,
      status: { desired: 1, pending: 0, starting: 0, ready: 0, draining: 0, ...status },
    },
  }) as unknown as ModelOption

describe('a call that waits', () => {
  it('waits for vectors instead of a token where embeddings are computed', () => {
    expect(waitingFor(undefined, false, 'the vectors')).toBe('Waiting for the vectors')
  })
  it('names the stage of the cold start (SPEC 3)', () => {
    expect(waitingFor(endpoint('scaled-to-zero'), false)).toBe(
      'Waking dedicated/mine: waiting for a replica; your call is held',
    )
    expect(waitingFor(endpoint('provisioning', { pending: 1 }), false)).toMatch(/waiting for free GPUs/)
    expect(waitingFor(endpoint('provisioning', { starting: 1 }), false)).toMatch(/loading the model/)
    expect(waitingFor(endpoint('serving', { ready: 1 }), false)).toBe('Waiting for the first token')
    expect(waitingFor(endpoint('scaled-to-zero'), true), 'the state may be older than the response').toBe(
      'Waiting for the first token',
    )
    expect(waitingFor(undefined, false)).toBe('Waiting for the first token')
  })
})

describe('a stopped response', () => {
  const call = { promptTokens: 44, cachedTokens: 0, completionTokens: 879, certainty: 'exact' } as LoggedRequest
  it('has the tokens of the request log, which may be an estimate', () => {
    const usage = { promptTokens: 44, cachedTokens: 0, completionTokens: 879 }
    expect(usageOf(call)).toEqual({ usage, isEstimate: false })
    expect(usageOf({ ...call, certainty: 'estimated' })).toEqual({ usage, isEstimate: true })
    expect(usageOf({ ...call, certainty: 'void' })).toBeUndefined()
  })
  it('waits until the call is logged', async () => {
    vi.useFakeTimers()
    const find = vi.fn(async (): Promise<LoggedRequest | undefined> => (find.mock.calls.length < 3 ? undefined : call))
    const found = usageOfStopped('ws_1', 'req_1', find)
    await vi.runAllTimersAsync()
    expect((await found)?.usage.completionTokens).toBe(879)
    expect(find).toHaveBeenCalledTimes(3)
    vi.useRealTimers()
  })
})

import { describe, expect, it } from 'vitest'
import { summarize } from './summarize'

const installation = {
  nodes: [
    { alive: true, report: { status: 'ready', callsInFlight: 2 } },
    { alive: true, report: { status: 'degraded', callsInFlight: 1 } },
    { alive: false, report: { status: 'ready', callsInFlight: 9 } },
  ],
  models: { total: 3, enabled: 2, available: 1 },
  gpus: [{ state: 'held' }, { state: 'other' }, { state: 'free' }, { state: 'unknown' }],
  errors: [{ count: 2 }, { count: 3 }],
  requests: 100,
}

describe('the summary of an installation', () => {
  it('counts what works, and nodes that are away only as missing', () => {
    const summary = summarize(installation as unknown as Parameters<typeof summarize>[0])
    expect(summary).toEqual({
      ready: '1 of 3',
      available: '1 of 2',
      used: '2 of 4',
      calls: '3',
      failed: '5',
      isManyFailed: true,
    })
    const busy = summarize({ ...installation, requests: 1_000 } as unknown as Parameters<typeof summarize>[0])
    expect(busy.isManyFailed).toBe(false)
  })

  it('does not show zero for what could not be loaded', () => {
    const summary = summarize({ nodes: undefined, models: undefined, gpus: [], errors: undefined, requests: undefined })
    const unknown = 'unknown'
    expect(summary).toEqual({
      ready: unknown,
      available: unknown,
      used: '0 of 0',
      calls: unknown,
      failed: unknown,
      isManyFailed: false,
    })
  })
})

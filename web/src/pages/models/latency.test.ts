import { describe, expect, it } from 'vitest'
import type { Series } from '../../api/series'
import { timesOf } from './latency'

const series = (total: object) => ({ data: [{ total, values: {} }], starts: [] }) as unknown as Series

describe('the latency of a model', () => {
  it('is formatted from the measured percentiles', () => {
    const total = { count: 40, p50: 0.12, p95: 0.8, p99: 1.5 }
    expect(timesOf(series(total))).toEqual({ median: '120 ms', p95: '800 ms', p99: '1.5 s' })
  })

  it('is undefined without calls', () => {
    expect(timesOf(undefined)).toBeUndefined()
    expect(timesOf(series({ count: 0, p50: null, p95: null, p99: null }))).toBeUndefined()
    expect(timesOf({ ...series({}), data: [] })).toBeUndefined()
  })
})

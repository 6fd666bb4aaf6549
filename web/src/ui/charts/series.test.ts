import { describe, expect, it } from 'vitest'
import { highest, isSparse, markedPoints, roundTicks, roundTimes, summary, zoomOf } from './series'

describe('charts', () => {
  it('summarizes the range of each series', () => {
    const points = [
      { at: 1, p50: 10, p99: null },
      { at: 2, p50: 30, p99: null },
    ]
    const series = [
      { key: 'p50', label: 'Median' },
      { key: 'p99', label: '99th' },
    ]
    expect(summary(points, series, (value) => `${value} ms`)).toBe('Median: from 10 ms to 30 ms; 99th: no data')
  })
  it('zooms when dragged in either direction, but not on a click', () => {
    expect([zoomOf(2, 1), zoomOf(1, 2), zoomOf(1, 1), zoomOf(1, undefined)]).toEqual([
      [1, 2],
      [1, 2],
      undefined,
      undefined,
    ])
  })
  it('detects sparse values', () => {
    const points = (count: number) => Array.from({ length: 100 }, (_, at) => ({ at, p50: at < count ? 1 : null }))
    const series = [{ key: 'p50', label: 'Median' }]
    expect([isSparse(points(1), series), isSparse(points(100), series)]).toEqual([true, false])
  })
  it('has round, distinct ticks, and none between whole counts', () => {
    expect(roundTicks(2_150)).toEqual([0, 1_000, 2_000, 3_000])
    expect(roundTicks(0.93)).toEqual([0, 0.25, 0.5, 0.75, 1])
    expect(roundTicks(3, true)).toEqual([0, 1, 2, 3])
    expect([roundTicks(0), roundTicks(1, true)]).toEqual([
      [0, 1],
      [0, 1],
    ])
  })
  it('draws marks at the points that they belong to, once each', () => {
    const points = [{ at: 100 }, { at: 200 }, { at: 300 }]
    const marks = [99, 100, 199, 200, 399, 400].map((at) => ({ at, label: '1 → 2' }))
    expect(markedPoints(points, marks)).toEqual([100, 200, 300])
    expect(markedPoints([], marks)).toEqual([])
  })
  it('has its highest value, of stacked bars their sum', () => {
    const points = [{ at: 1, a: 2, b: 3 }]
    const series = [
      { key: 'a', label: 'A' },
      { key: 'b', label: 'B' },
    ]
    expect([highest(points, series, 'bar'), highest(points, series, 'line')]).toEqual([5, 3])
  })
  it('has round times, also in zones with half hours', () => {
    const minutes = (from: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({ at: Date.parse(from) + index * 60_000 }))
    const clock = (at: number) => new Date(at).toISOString().slice(11, 16)
    const hour = minutes('2026-11-15T15:47:00Z', 60)
    expect(roundTimes(hour, 0).map(clock)).toEqual(['15:50', '16:00', '16:10', '16:20', '16:30', '16:40'])
    const half = minutes('2026-11-15T00:00:00Z', 300)
    expect(roundTimes(half, -330 * 60_000).map(clock)).toEqual(['00:30', '01:30', '02:30', '03:30', '04:30'])
  })
})

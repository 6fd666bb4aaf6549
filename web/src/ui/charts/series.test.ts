import { describe, expect, it } from 'vitest'
import { isFlat, isSparse, summary, zoomOf } from './series'

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
  it('detects charts without anything above zero', () => {
    const series = [{ key: 'count', label: 'Calls' }]
    const flat = [0, null, 0.2].map((count) =>
      isFlat(
        [
          { at: 1, count: 0 },
          { at: 2, count },
        ],
        series,
      ),
    )
    expect(flat).toEqual([true, true, false])
  })
})

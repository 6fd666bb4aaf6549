import { describe, expect, it, vi } from 'vitest'
import {
  axisWidth,
  colorOf,
  highest,
  inErrorTones,
  isSparse,
  markedPoints,
  roundTicks,
  roundTimes,
  summary,
  timeTicks,
  zoomOf,
} from './series'

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
  it('has an axis as wide as its longest label, and equally wide ones for short labels', () => {
    expect([axisWidth([]), axisWidth(['0', '$10.00'])]).toEqual([64, 64])
    expect(axisWidth(['$0', '$0.00000025'])).toBe(96)
  })
  it('draws six causes of errors in six colours', () => {
    const codes = Array.from({ length: 6 }, (_, index) => ({ key: `${index}`, label: `code_${index}` }))
    expect(new Set(inErrorTones(codes).map(colorOf)).size).toBe(6)
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
    expect(roundTimes(hour, () => 0).map(clock)).toEqual(['15:50', '16:00', '16:10', '16:20', '16:30', '16:40'])
    const half = minutes('2026-11-15T00:00:00Z', 300)
    expect(roundTimes(half, () => -330 * 60_000).map(clock)).toEqual(['00:30', '01:30', '02:30', '03:30', '04:30'])
  })
  it.each([
    ['Berlin', -60, '01:00'],
    ['India', -330, '02:30'],
    ['New York', 300, '01:00'],
  ])('has a label per round local day though points are aligned to UTC, in %s', (_, minutes, firstOfDay) => {
    const offsetAt = () => minutes * 60_000
    const local = (at: number) => new Date(at - offsetAt()).toISOString()
    const steps = (hours: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ at: Date.UTC(2026, 9, 20) + index * hours * 3_600_000 }))
    const month = roundTimes(steps(3, 240), offsetAt).map(local)
    expect(month).toHaveLength(6)
    expect(new Set(month.map((at) => at.slice(11, 16)))).toEqual(new Set([firstOfDay]))
    expect(new Set(month.map((at) => at.slice(0, 10))).size).toBe(6)
    expect(roundTimes(steps(24, 30), offsetAt)).toHaveLength(6)
    expect(roundTimes(steps(24, 7), offsetAt)).toHaveLength(7)
  })
  it('labels days of UTC in any zone, and never two times the same', () => {
    const points = (hours: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ at: Date.UTC(2026, 10, 1) + index * hours * 3_600_000 }))
    vi.stubEnv('TZ', 'America/New_York')
    const [utc, local] = [timeTicks(points(24, 3), 'UTC'), timeTicks(points(24, 3))]
    vi.unstubAllEnvs()
    expect([...utc.values()]).toEqual(['1 Nov', '2 Nov', '3 Nov'])
    expect([...local.values()], 'the day before, in the evening').toEqual(['31 Oct', '1 Nov', '2 Nov'])
    expect([...timeTicks(points(1, 49), 'UTC').values()]).toEqual(['1 Nov', '12:00', '2 Nov', '12:00', '3 Nov'])
  })
})

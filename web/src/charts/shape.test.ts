import { describe, expect, it } from 'vitest'
import type { Series, SeriesLine } from '../api/series'
import { colorOf } from '../ui/charts/series'
import {
  byGroup,
  byMember,
  cacheHitRate,
  errorRate,
  isEmpty,
  perSecond,
  totalOf,
  withoutCached,
  withoutRest,
  withRest,
} from './shape'

const series = (data: SeriesLine[]): Series => ({
  metric: 'ttft',
  unit: 'seconds',
  from: '2026-11-15T10:00:00Z',
  to: '2026-11-15T10:02:00Z',
  stepSeconds: 60,
  keptFrom: '2026-11-01T00:00:00Z',
  starts: ['2026-11-15T10:00:00Z', '2026-11-15T10:01:00Z'],
  data,
})

describe('chart data', () => {
  it('has a line per percentile, with gaps for missing values', () => {
    const shaped = byMember(series([{ values: { p50: [0.1, null] }, total: { p50: 0.1 } }]), [
      { member: 'p50', label: 'Median' },
      { member: 'p99', label: '99th' },
    ])
    expect(shaped.points).toEqual([
      { at: Date.parse('2026-11-15T10:00:00Z'), p50: 0.1, p99: null },
      { at: Date.parse('2026-11-15T10:01:00Z'), p50: null, p99: null },
    ])
    expect(shaped.lines.map((line) => line.label)).toEqual(['Median', '99th'])
  })
  it('has a line per group, and the rest in gray', () => {
    const shaped = byGroup(
      series([
        { code: 'rate_limit_exceeded', values: { count: [1, 0] }, total: { count: 1 } },
        { others: true, values: { count: [0, 2] }, total: { count: 2 } },
      ]),
      'count',
      (line) => line.code ?? 'others',
    )
    expect(shaped.points[1]).toMatchObject({ line0: 0, line1: 2 })
    expect(shaped.lines[1]).toMatchObject({ label: 'others', tone: 'gray' })
  })
  it('adds up lines that would repeat a colour', () => {
    const codes = Array.from({ length: 12 }, (_, index) => ({
      code: `code_${index}`,
      values: { count: [1, index] },
      total: { count: 1 + index },
    }))
    const { points, lines } = withRest(byGroup(series(codes), 'count', (line) => line.code ?? ''))
    expect(new Set(lines.map(colorOf)).size).toBe(lines.length)
    expect(lines.at(-1)?.label).toBe('Others')
    const sums = points.map((point) => lines.reduce((sum, { key }) => sum + (point[key] ?? 0), 0))
    expect(sums).toEqual([12, 66])
  })
  it('draws the heaviest lines only, and counts the others', () => {
    const replicas = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ replica: `r${index}`, values: { mean: [1, 2] }, total: {} }))
    const drawn = (count: number) => withoutRest(byGroup(series(replicas(count)), 'mean', (line) => line.replica ?? ''))
    const { lines, hidden } = drawn(12)
    expect(new Set(lines.map(colorOf)).size).toBe(lines.length)
    expect([lines.map(({ label }) => label), hidden]).toEqual([['r0', 'r1', 'r2', 'r3', 'r4'], 7])
    expect([drawn(6).lines.length, drawn(6).hidden]).toEqual([6, undefined])
  })
  it('has rates per second, and the share of failed calls', () => {
    const calls = series([{ values: { count: [120, null] }, total: { count: 120 } }])
    expect(perSecond(calls).data[0]?.values.count).toEqual([2, null])
    const failed = series([{ values: { count: [30, 0] }, total: { count: 30 } }])
    expect(errorRate(calls, failed).data[0]).toEqual({ values: { mean: [0.25, null] }, total: { mean: 0.25 } })
  })
  it('counts cached tokens once', () => {
    const shaped = { points: [{ at: 1, prompt: 10, cached: 4, completion: 3 }], lines: [] }
    expect(withoutCached(shaped).points).toEqual([{ at: 1, prompt: 6, cached: 4, completion: 3 }])
  })
  it('detects missing data', () => {
    const count = (values: (number | null)[]) =>
      byMember(series([{ values: { count: values }, total: {} }]), [{ member: 'count', label: 'Calls' }])
    expect([isEmpty(count([0, null]), 'counts'), isEmpty(count([0, 1]), 'counts')]).toEqual([true, false])
    expect([isEmpty(count([0, null]), 'gauges'), isEmpty(count([null]), 'gauges')]).toEqual([false, true])
  })
  it('sums totals over groups, and is undefined without data', () => {
    const lines = [1, 2].map((count) => ({ values: {}, total: { count } }))
    expect([totalOf(series(lines), 'count'), totalOf(series(lines), 'p50'), totalOf(undefined, 'count')]).toEqual([
      3,
      undefined,
      undefined,
    ])
  })
  it('divides cached by prompt tokens, and has gaps without prompts', () => {
    const line = { values: { prompt: [200, 0], cached: [50, 0] }, total: { prompt: 200, cached: 50 } }
    const ungrouped = cacheHitRate(series([line]))
    expect(ungrouped.points.map((point) => point.line0)).toEqual([0.25, null])
    expect(ungrouped.lines.map(({ label }) => label)).toEqual(['Cache hit rate'])
    const grouped = cacheHitRate(series([{ ...line, model: 'a' }, line]), ({ model }) => model ?? 'other')
    expect(grouped.lines.map(({ label }) => label)).toEqual(['a', 'other'])
  })
})

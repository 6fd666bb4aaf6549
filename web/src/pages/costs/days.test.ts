import { describe, expect, it } from 'vitest'
import type { Costs, UsageLine } from '../../api/costs'
import { monthOf, monthsUpTo, spanOf } from '../../ui/months'
import { byKind, byModel } from './days'

const amount = { costUsd: '0', forecastUsd: null }
const classes = { interactiveUsd: '0', flexUsd: '0', batchUsd: '0' }
const costs: Costs = {
  month: '2026-11',
  from: '2026-11-01T00:00:00Z',
  to: '2026-11-02T12:00:00Z',
  serverless: amount,
  classes,
  dedicated: amount,
  total: amount,
  gpuHours: '0',
  days: [
    { day: '2026-11-01', serverlessUsd: '0.25', classes, dedicatedUsd: '1.5', totalUsd: '1.75', gpuHours: '3' },
    { day: '2026-11-02', serverlessUsd: '0', classes, dedicatedUsd: '0', totalUsd: '0', gpuHours: '0' },
  ],
}
const line = (model: string, day: string, costUsd: string): UsageLine => ({
  model,
  day,
  costUsd,
  requests: 1,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
})

describe('costs by day', () => {
  it('has a bar per type', () => {
    expect(byKind(costs).points[0]).toEqual({ at: Date.UTC(2026, 10, 1), serverless: 0.25, dedicated: 1.5 })
  })
  it('has a bar per model and day, most expensive first', () => {
    const bars = byModel(costs, [line('a/small', '2026-11-01', '0.05'), line('a/big', '2026-11-02', '0.2')])
    expect(bars.lines.map((one) => one.label)).toEqual(['a/big', 'a/small', 'Dedicated endpoints'])
    expect(bars.points.map((point) => [point.model0, point.model1])).toEqual([
      [0, 0.05],
      [0.2, 0],
    ])
  })
  it('combines further models into one bar', () => {
    const usage = Array.from({ length: 6 }, (_, index) => line(`a/${index}`, '2026-11-01', `0.${9 - index}`))
    const bars = byModel(costs, usage)
    expect(bars.lines).toHaveLength(6)
    expect(bars.points[0]?.others).toBeCloseTo(0.9)
  })
})

describe('months', () => {
  it('are in UTC, newest first', () => {
    const now = Date.parse('2026-01-31T23:59:59Z')
    expect(monthOf(now)).toBe('2026-01')
    expect(monthsUpTo(now, 2)).toEqual([
      { value: '2026-01', label: 'January 2026' },
      { value: '2025-12', label: 'December 2025' },
    ])
  })
  it('end where the next begins', () => {
    expect(spanOf('2025-12')).toEqual({ from: '2025-12-01T00:00:00.000Z', to: '2026-01-01T00:00:00.000Z' })
  })
})

/** Costs per day as chart bars. Money becomes a float only here, for drawing. */

import type { Costs, UsageLine } from '../../api/costs'
import type { Point, Series } from '../../ui/charts/series'
import { nanoUsd } from '../../ui/format'

export type Bars = { points: Point[]; lines: Series[] }
const NANO = 1e9
/** Further models are combined into one bar, since colours would repeat. */
const MAX_MODELS = 4

const dollars = (text: string) => Number(nanoUsd(text) ?? 0n) / NANO
const at = (day: string) => Date.parse(`${day}T00:00:00Z`)

/** Serverless and dedicated costs per day. */
export function byKind(costs: Costs): Bars {
  return {
    points: costs.days.map((day) => ({
      at: at(day.day),
      serverless: dollars(day.serverlessUsd),
      dedicated: dollars(day.dedicatedUsd),
    })),
    lines: [
      { key: 'serverless', label: 'Serverless, per token', tone: 'blue' },
      { key: 'dedicated', label: 'Dedicated, per GPU-hour', tone: 'orange' },
    ],
  }
}

/** Costs per day and model, most expensive first; dedicated endpoints are combined. */
export function byModel(costs: Costs, usage: readonly UsageLine[]): Bars {
  const sums = new Map<string, number>()
  for (const line of usage) {
    const model = line.model ?? ''
    sums.set(model, (sums.get(model) ?? 0) + dollars(line.costUsd))
  }
  const models = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1])
  const shown = models.slice(0, MAX_MODELS).map(([model]) => model)
  const points = costs.days.map((day) => {
    const point: Point = { at: at(day.day), dedicated: dollars(day.dedicatedUsd) }
    shown.forEach((_, index) => {
      point[`model${index}`] = 0
    })
    if (models.length > MAX_MODELS) point.others = 0
    for (const line of usage) {
      if (line.day !== day.day) continue
      const index = shown.indexOf(line.model ?? '')
      const key = index < 0 ? 'others' : `model${index}`
      if (key in point) point[key] = (point[key] ?? 0) + dollars(line.costUsd)
    }
    return point
  })
  const lines: Series[] = shown.map((model, index) => ({ key: `model${index}`, label: model }))
  if (models.length > MAX_MODELS) lines.push({ key: 'others', label: 'Other models', tone: 'gray' })
  lines.push({ key: 'dedicated', label: 'Dedicated endpoints', tone: 'red' })
  return { points, lines }
}

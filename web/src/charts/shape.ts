/** Series of the API as points and lines of a chart. */

import type { Series, SeriesLine } from '../api/series'
import type { Series as ChartLine, Point } from '../ui/charts/series'

export type Member = keyof SeriesLine['values']
export type MemberLine = { member: Member; label: string; tone?: ChartLine['tone'] }
export type Shaped = { points: Point[]; lines: ChartLine[] }

/** One line for each member of the only group: percentiles, or kinds of tokens. */
export function byMember(series: Series, members: readonly MemberLine[]): Shaped {
  const line = series.data[0]
  const points = series.starts.map((start, index) => {
    const point: Point = { at: Date.parse(start) }
    for (const { member } of members) point[member] = line?.values[member]?.[index] ?? null
    return point
  })
  return { points, lines: members.map(({ member, label, tone }) => ({ key: member, label, tone })) }
}

/** One line for each group, of one member. */
export function byGroup(series: Series, member: Member, nameOf: (line: SeriesLine) => string): Shaped {
  const points = series.starts.map((start, index) => {
    const point: Point = { at: Date.parse(start) }
    series.data.forEach((line, group) => {
      point[`line${group}`] = line.values[member]?.[index] ?? null
    })
    return point
  })
  const lines = series.data.map((line, group) => ({
    key: `line${group}`,
    label: nameOf(line),
    ...(line.others ? { tone: 'gray' as const } : {}),
  }))
  return { points, lines }
}

/** Cached tokens are a part of the prompt: bars on top of each other must not count them twice. */
export function withoutCached({ points, lines }: Shaped): Shaped {
  const apart = points.map((point) => {
    const { prompt, cached } = point
    return typeof prompt === 'number' && typeof cached === 'number' ? { ...point, prompt: prompt - cached } : point
  })
  return { points: apart, lines }
}

/** Whether there is nothing to see. Counts that are all zero are nothing; a gauge at zero was measured. */
export const isEmpty = ({ points, lines }: Shaped, what: 'counts' | 'gauges') =>
  !points.some((point) =>
    lines.some(({ key }) => typeof point[key] === 'number' && (what === 'gauges' || point[key] !== 0)),
  )

/** A member of the whole span, over all groups that there are. */
export function totalOf(series: Series | undefined, member: Member): number | undefined {
  const totals = series?.data.map((line) => line.total[member]).filter((value) => typeof value === 'number') ?? []
  return totals.length ? totals.reduce((sum, value) => sum + value, 0) : undefined
}

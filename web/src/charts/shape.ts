/** Converts series of the API into points and lines of a chart. */

import type { Series, SeriesLine } from '../api/series'
import { type Series as ChartLine, MAX_GROUPS, type Point } from '../ui/charts/series'

export type Member = keyof SeriesLine['values']
export type MemberLine = { member: Member; label: string; tone?: ChartLine['tone'] }
/** `hidden` is how many lines are not drawn. */
export type ChartData = { points: Point[]; lines: ChartLine[]; hidden?: number }

/** One line per member of an ungrouped series, such as percentiles or kinds of tokens. */
export function byMember(series: Series, members: readonly MemberLine[]): ChartData {
  const line = series.data[0]
  const points = series.starts.map((start, index) => {
    const point: Point = { at: Date.parse(start) }
    for (const { member } of members) point[member] = line?.values[member]?.[index] ?? null
    return point
  })
  return { points, lines: members.map(({ member, label, tone }) => ({ key: member, label, tone })) }
}

/** One line per group, showing one member. */
export function byGroup(series: Series, member: Member, nameOf: (line: SeriesLine) => string): ChartData {
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

/** Amounts per second instead of amounts per step. */
export function perSecond(series: Series): Series {
  const line = series.data[0]
  if (!line) return series
  const values = Object.fromEntries(
    Object.entries(line.values).map(([member, amounts]) => [
      member,
      amounts?.map((amount) => (amount == null ? null : amount / series.stepSeconds)),
    ]),
  )
  return { ...series, data: [{ ...line, values }] }
}

/** Failed calls divided by all calls; null without any call. */
export function errorRate(requests: Series, errors: Series): Series {
  const [all, failed] = [requests.data[0], errors.data[0]]
  const rates = requests.starts.map((_, index) => rateOf(failed?.values.count?.[index], all?.values.count?.[index]))
  const total = rateOf(failed?.total.count, all?.total.count)
  return { ...requests, data: [{ values: { mean: rates }, total: { mean: total } }] }
}

/** Adds up the counts of all lines but the first, which are the largest. */
export function withRest({ points, lines }: ChartData): ChartData {
  if (lines.length <= MAX_GROUPS + 1) return { points, lines }
  const [shown, rest] = [lines.slice(0, MAX_GROUPS), lines.slice(MAX_GROUPS)]
  const added = points.map((point) => ({
    ...point,
    rest: rest.reduce((sum, { key }) => sum + (point[key] ?? 0), 0),
  }))
  return { points: added, lines: [...shown, { key: 'rest', label: 'Others', tone: 'gray' }] }
}

/** Keeps the heaviest lines, which cannot be added up as bars can. The API sends the heaviest first. */
export function withoutRest({ points, lines }: ChartData): ChartData {
  if (lines.length <= MAX_GROUPS + 1) return { points, lines }
  return { points, lines: lines.slice(0, MAX_GROUPS), hidden: lines.length - MAX_GROUPS }
}

/** Subtracts cached tokens from the prompt, since stacked bars would count them twice. */
export function withoutCached({ points, lines }: ChartData): ChartData {
  const separated = points.map((point) => {
    const { prompt, cached } = point
    return typeof prompt === 'number' && typeof cached === 'number' ? { ...point, prompt: prompt - cached } : point
  })
  return { points: separated, lines }
}

/** Cached tokens divided by prompt tokens, of a series of tokens; one line per group. Null without any prompt. */
export function cacheHitRate(series: Series, nameOf?: (line: SeriesLine) => string): ChartData {
  const points = series.starts.map((start, index) => {
    const point: Point = { at: Date.parse(start) }
    series.data.forEach((line, group) => {
      point[`line${group}`] = rateOf(line.values.cached?.[index], line.values.prompt?.[index])
    })
    return point
  })
  const lines = series.data.map((line, group) => ({
    key: `line${group}`,
    label: nameOf?.(line) ?? 'Cache hit rate',
    ...(line.others ? { tone: 'gray' as const } : {}),
  }))
  return { points, lines }
}

const rateOf = (cached: number | null | undefined, prompt: number | null | undefined) =>
  cached == null || !prompt ? null : cached / prompt

/** Whether there is no data. Counts that are all zero are empty; a gauge at zero was measured. */
export const isEmpty = ({ points, lines }: ChartData, kind: 'counts' | 'gauges') =>
  !points.some((point) =>
    lines.some(({ key }) => typeof point[key] === 'number' && (kind === 'gauges' || point[key] !== 0)),
  )

/** Total of a member over the whole time range and all groups. */
export function totalOf(series: Series | undefined, member: Member): number | undefined {
  const totals = series?.data.map((line) => line.total[member]).filter((value) => typeof value === 'number') ?? []
  return totals.length ? totals.reduce((sum, value) => sum + value, 0) : undefined
}

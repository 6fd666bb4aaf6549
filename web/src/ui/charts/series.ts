/** Input of a chart. */

/** A time in ms and a value per series; null if nothing was measured. */
export type Point = { at: number } & Record<string, number | null>
export type Series = { key: string; label: string; tone?: keyof typeof TONES }

export type ChartProps = {
  /** Accessible name, such as "Requests per minute". */
  title: string
  kind?: 'line' | 'area' | 'bar'
  points: Point[]
  series: Series[]
  formatValue?: (value: number) => string
  formatAt?: (at: number) => string
  /** Of the time axis. */
  zone?: Zone
  height?: number
  /** Shows the legend even for a single series. */
  isGrouped?: boolean
  /** Values are counts, so the axis has no fractions. */
  isWhole?: boolean
  /** Allows selecting a time range by dragging. Offer the same through fields, for keyboard users. */
  onZoom?: (from: number, to: number) => void
  /** What happened, drawn as lines and listed below the chart. */
  marks?: readonly Mark[]
}

export type Mark = { at: number; label: string }

/** The points at which marks are drawn: each belongs to the last point before it. Marks outside of the chart are left out. */
export function markedPoints(points: readonly Point[], marks: readonly Mark[]): number[] {
  const [first, second] = points
  const last = points.at(-1)
  if (!first || !second || !last) return []
  const end = last.at + (second.at - first.at)
  const inside = marks.filter(({ at }) => at >= first.at && at < end)
  return [...new Set(inside.map((mark) => points.findLast(({ at }) => at <= mark.at)?.at ?? first.at))]
}

/** Colours that work on light and dark backgrounds and for colour-blind users. */
export const TONES = {
  blue: 'brand.6',
  orange: 'orange.6',
  green: 'teal.6',
  red: 'red.6',
  violet: 'violet.5',
  yellow: 'yellow.6',
  pink: 'pink.5',
  lime: 'lime.7',
  indigo: 'indigo.4',
  gray: 'gray.5',
} as const

/** Gray is for the rest. */
const ORDER = ['blue', 'orange', 'green', 'violet', 'red', 'yellow', 'pink', 'lime', 'indigo'] as const
/** Causes of errors begin with red. */
const OF_ERRORS = ['red', 'orange', 'pink', 'yellow', 'violet', 'indigo'] as const
/** Groups that are drawn by themselves; more would look alike. */
export const MAX_GROUPS = 5

export const inErrorTones = (lines: Series[]): Series[] =>
  lines.map((line, index) => ({ ...line, tone: line.tone ?? OF_ERRORS[index] }))

export const colorOf = (series: Series, index: number): string =>
  TONES[series.tone ?? ORDER[index % ORDER.length] ?? 'blue']

/** The selected range in ascending order; undefined for a mere click. */
export function zoomOf(start: number | undefined, end: number | undefined): [number, number] | undefined {
  if (start === undefined || end === undefined || start === end) return undefined
  return start < end ? [start, end] : [end, start]
}

/** Range of values per series, for screen readers. */
export function summary(points: Point[], series: Series[], format: (value: number) => string): string {
  const parts = series.map(({ key, label }) => {
    const values = points.map((point) => point[key]).filter((value) => typeof value === 'number')
    if (values.length === 0) return `${label}: no data`
    return `${label}: from ${format(Math.min(...values))} to ${format(Math.max(...values))}`
  })
  return parts.join('; ')
}

const FEW = 40

/** Whether values are so sparse that a line without dots would not show them. */
export const isSparse = (points: Point[], series: Series[]): boolean =>
  series.some(({ key }) => {
    const known = points.filter((point) => typeof point[key] === 'number').length
    return known > 0 && known <= FEW
  })

const STEPS = [1, 2, 2.5, 5, 10]
const WHOLE_STEPS = [1, 2, 5, 10]
const INTERVALS = 4

/** Round, distinct values from zero to at least `max`. */
export function roundTicks(max: number, isWhole = false): number[] {
  if (!(max > 0)) return [0, 1]
  const least = isWhole ? Math.max(1, max / INTERVALS) : max / INTERVALS
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = (isWhole ? WHOLE_STEPS : STEPS).find((one) => one * power >= least * (1 - 1e-9)) ?? 10
  const step = factor * power
  const count = Math.ceil(max / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

/** The same for all charts with short labels, so that the plots of a row are equally wide. */
const AXIS_WIDTH = 64
const LABEL_MARGIN = 8
/** More than the mean width of the characters of a label. */
const CHARACTER_WIDTH = 8

/** The width of an axis in which its longest label fits. */
export const axisWidth = (labels: string[]): number =>
  Math.max(AXIS_WIDTH, LABEL_MARGIN + CHARACTER_WIDTH * Math.max(0, ...labels.map(({ length }) => length)))

/** The highest value of a chart; bars are stacked. */
export function highest(points: Point[], series: Series[], kind: ChartProps['kind']): number {
  const values = points.map((point) => {
    const shown = series.map(({ key }) => Number(point[key] ?? 0))
    return kind === 'bar' ? shown.reduce((sum, value) => sum + value, 0) : Math.max(0, ...shown)
  })
  return Math.max(0, ...values)
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const TIME_STEPS = [1, 2, 5, 10, 15, 30]
  .map((minutes) => minutes * MINUTE)
  .concat(
    [1, 2, 3, 6, 12].map((hours) => hours * HOUR),
    [1, 2, 5, 10, 30, 90].map((days) => days * DAY),
  )
const MAX_TIMES = 7

/** The browser's zone if undefined. */
export type Zone = 'UTC'

const offsetIn = (zone?: Zone) => (at: number) => (zone ? 0 : new Date(at).getTimezoneOffset() * MINUTE)

/**
 * At most seven points for the labels of the time axis: the first at or after each round local time. Points are aligned to
 * UTC, so that one every 3 h is never at midnight in Berlin.
 */
export function roundTimes(points: Point[], offsetAt = offsetIn()): number[] {
  const times = points.map(({ at }) => at)
  const [first = 0, second = first] = times
  const interval = second - first
  const span = (times.at(-1) ?? first) - first + interval
  for (const step of TIME_STEPS) {
    if (span / step > MAX_TIMES) continue
    const stepsAt = (at: number) => Math.floor((at - offsetAt(at)) / step)
    const round = times.filter((at, index) => stepsAt(at) !== stepsAt(times[index - 1] ?? at - interval))
    if (round.length > 0) return round
  }
  return times.slice(0, 1)
}

/** The times at which the axis has labels, and the labels: beyond a day, the first of each day is the day. */
export function timeTicks(points: Point[], zone?: Zone): Map<number, string> {
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: zone })
  const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: zone })
  const times = roundTimes(points, offsetIn(zone))
  const isLong = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0) > DAY
  const isNewDay = (at: number, before?: number) => before === undefined || day.format(at) !== day.format(before)
  return new Map(times.map((at, index) => [at, (isLong && isNewDay(at, times[index - 1]) ? day : clock).format(at)]))
}

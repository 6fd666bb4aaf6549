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
  height?: number
  /** Shows the legend even for a single series. */
  isGrouped?: boolean
  /** Values are counts, so the axis has no fractions. */
  isWhole?: boolean
  /** Allows selecting a time range by dragging. Offer the same through fields, for keyboard users. */
  onZoom?: (from: number, to: number) => void
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
/** Lines with a colour of their own. */
export const MAX_COLORS = ORDER.length

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

/** Whether there is nothing above zero, for which the axis would otherwise end at 4, or 400 %. */
export const isFlat = (points: Point[], series: Series[]): boolean =>
  points.every((point) => series.every(({ key }) => !(Number(point[key]) > 0)))

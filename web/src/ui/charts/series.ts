/** What a chart is told. */

/** A point: the moment in ms, and a value for each series; null where nothing was measured. */
export type Point = { at: number } & Record<string, number | null>
export type Series = { key: string; label: string; tone?: keyof typeof TONES }

export type ChartProps = {
  /** What is shown, for those who hear it: "Requests per minute". */
  title: string
  kind?: 'line' | 'area' | 'bar'
  points: Point[]
  series: Series[]
  formatValue?: (value: number) => string
  formatAt?: (at: number) => string
  height?: number
  /** Names the series also when there is but one. */
  isGrouped?: boolean
  /** Counts: the axis has no fractions. */
  isWhole?: boolean
  /** Makes a piece of the time selectable by dragging. Offer the same by fields, for the keyboard. */
  onZoom?: (from: number, to: number) => void
}

/** Colours that stand on light and dark, and apart for those who see few. */
export const TONES = {
  blue: 'brand.6',
  orange: 'orange.6',
  green: 'teal.6',
  red: 'red.6',
  violet: 'violet.5',
  gray: 'gray.5',
} as const

const ORDER = ['blue', 'orange', 'green', 'violet', 'red', 'gray'] as const

export const colorOf = (series: Series, index: number): string =>
  TONES[series.tone ?? ORDER[index % ORDER.length] ?? 'blue']

/** From the earlier to the later, however it was dragged; undefined when it is but a click. */
export function zoomOf(start: number | undefined, end: number | undefined): [number, number] | undefined {
  if (start === undefined || end === undefined || start === end) return undefined
  return start < end ? [start, end] : [end, start]
}

/** The end of the title for those who hear it: how far the values go. */
export function summary(points: Point[], series: Series[], format: (value: number) => string): string {
  const parts = series.map(({ key, label }) => {
    const values = points.map((point) => point[key]).filter((value) => typeof value === 'number')
    if (values.length === 0) return `${label}: nothing`
    return `${label}: from ${format(Math.min(...values))} to ${format(Math.max(...values))}`
  })
  return parts.join('; ')
}

const FEW = 40

/** Whether single values stand so far apart that a line alone would not show them. */
export const isSparse = (points: Point[], series: Series[]): boolean =>
  series.some(({ key }) => {
    const known = points.filter((point) => typeof point[key] === 'number').length
    return known > 0 && known <= FEW
  })

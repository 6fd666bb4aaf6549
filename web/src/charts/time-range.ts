/** Time ranges of charts: one that ends now, or a fixed one from `from` to `to`. */

import type { Window } from '../api/series'
import { oneOf, timestamp } from '../ui/filters'

const MINUTE = 60_000
export const TIME_RANGES = [
  { value: '1h', label: '1 h', ms: 60 * MINUTE },
  { value: '6h', label: '6 h', ms: 360 * MINUTE },
  { value: '24h', label: '24 h', ms: 1_440 * MINUTE },
  { value: '7d', label: '7 d', ms: 7 * 1_440 * MINUTE },
  { value: '30d', label: '30 d', ms: 30 * 1_440 * MINUTE },
] as const
export type TimeRangeName = (typeof TIME_RANGES)[number]['value']

const NAMES = TIME_RANGES.map((range) => range.value) as [TimeRangeName, ...TimeRangeName[]]
export const TIME_RANGE_FILTERS = { span: oneOf(NAMES, '1h'), from: timestamp(), to: timestamp() }
export type TimeRange = { span: TimeRangeName; from: string; to: string }

/** Shortest refetch interval; long ranges are refetched less often. */
const LIVE_MS = 5_000
const POINTS = 240

export const isZoomed = ({ from, to }: TimeRange) => !!from && !!to && Date.parse(from) < Date.parse(to)

/** Whether the chosen start is not before the chosen end, so that the range is not used. */
export const isReversed = (values: TimeRange) => !!values.from && !!values.to && !isZoomed(values)

/** A zoomed range is fixed; one that ends now is refetched. */
export function windowOf(values: TimeRange): Window {
  if (isZoomed(values)) return { from: values.from, to: values.to }
  const spanMs = TIME_RANGES.find((range) => range.value === values.span)?.ms ?? TIME_RANGES[0].ms
  return { spanMs, liveMs: Math.min(60_000, Math.max(LIVE_MS, spanMs / POINTS / 4)) }
}

/** URL parameters after zooming into a range. */
export const zoomTo = (from: number, to: number) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
})

/** The zone of all times of the console: that of the browser. */
export const timeZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone

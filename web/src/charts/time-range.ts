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
export const DAY_RANGE_FILTERS = { ...TIME_RANGE_FILTERS, span: oneOf(NAMES, '24h') }
export type TimeRange = { span: TimeRangeName; from: string; to: string }

/** Shortest refetch interval; long ranges are refetched less often. */
const LIVE_MS = 5_000
const POINTS = 240

/** Whether a start or an end is chosen, instead of a length. */
export const isFixed = ({ from, to }: TimeRange) => !!from || !!to

/** Whether the chosen start is not before the end, which is now if none is chosen. */
export const isReversed = ({ from, to }: TimeRange, now = Date.now()) =>
  !!from && Date.parse(from) >= (to ? Date.parse(to) : now)

/** Whether a page can show the range: it is not reversed, and has a start if it has an end. */
export const isUsable = (values: TimeRange, now = Date.now()) =>
  !isReversed(values, now) && (!!values.from || !values.to)

/** A range without an end is refetched; one with both is not. Others are replaced by the chosen length. */
export function windowOf(values: TimeRange, now = Date.now()): Window {
  const { span, from, to } = values
  const length = TIME_RANGES.find(({ value }) => value === span)?.ms ?? TIME_RANGES[0].ms
  if (!from || !isUsable(values, now)) return { spanMs: length, liveMs: liveMsOf(length) }
  // In steps, because the window is a part of the keys of queries.
  const coveredBy = TIME_RANGES.find(({ ms }) => now - Date.parse(from) <= ms)
  return to ? { from, to } : { from, liveMs: liveMsOf(coveredBy?.ms ?? Number.POSITIVE_INFINITY) }
}

const liveMsOf = (spanMs: number) => Math.min(60_000, Math.max(LIVE_MS, spanMs / POINTS / 4))

/** URL parameters after zooming into a range. */
export const zoomTo = (from: number, to: number) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
})

/** The zone of all times of the console: that of the browser. */
export const timeZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone

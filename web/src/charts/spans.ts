/** Spans of time that a chart may show: one that ends now, or one from moment to moment. */

import type { Window } from '../api/series'
import { moment, oneOf } from '../ui/filters'

const MINUTE = 60_000
export const SPANS = [
  { value: '1h', label: '1 h', ms: 60 * MINUTE },
  { value: '6h', label: '6 h', ms: 360 * MINUTE },
  { value: '24h', label: '24 h', ms: 1_440 * MINUTE },
  { value: '7d', label: '7 d', ms: 7 * 1_440 * MINUTE },
  { value: '30d', label: '30 d', ms: 30 * 1_440 * MINUTE },
] as const
export type SpanName = (typeof SPANS)[number]['value']

const NAMES = SPANS.map((span) => span.value) as [SpanName, ...SpanName[]]
export const SPAN_FILTERS = { span: oneOf(NAMES, '1h'), from: moment(), to: moment() }
export type SpanValues = { span: SpanName; from: string; to: string }

/** Not more often than this, and less often where a point is long. */
const LIVE_MS = 5_000
const POINTS = 240

export const isZoomed = ({ from, to }: SpanValues) => !!from && !!to && Date.parse(from) < Date.parse(to)

/** A zoomed span stands still; one that ends now moves, and is asked for again. */
export function windowOf(values: SpanValues): Window {
  if (isZoomed(values)) return { from: values.from, to: values.to }
  const spanMs = SPANS.find((span) => span.value === values.span)?.ms ?? SPANS[0].ms
  return { spanMs, liveMs: Math.min(60_000, Math.max(LIVE_MS, spanMs / POINTS / 4)) }
}

/** What the address says after a piece was chosen by dragging. */
export const zoomTo = (from: number, to: number) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
})

/** For a field of the kind `datetime-local`, in the reader's own time zone. */
export function toLocalField(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE).toISOString().slice(0, 16)
}

export const fromLocalField = (text: string): string => {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

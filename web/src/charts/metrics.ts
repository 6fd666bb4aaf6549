/** Lines, names and formats of metrics. The three kinds of "utilization" have distinct names. */

import type { Series } from '../api/series'
import { formatCompact, formatCount, formatDuration, formatShare } from '../ui/format'
import type { Member, MemberLine } from './shape'
import { totalOf } from './shape'

export const COUNT: readonly MemberLine[] = [{ member: 'count', label: 'Calls' }]
export const ERRORS: readonly MemberLine[] = [{ member: 'count', label: 'Errors', tone: 'red' }]
export const TOKENS: readonly MemberLine[] = [
  { member: 'prompt', label: 'Prompt', tone: 'blue' },
  { member: 'cached', label: 'Prompt, cached', tone: 'gray' },
  { member: 'completion', label: 'Completion', tone: 'orange' },
]
export const PERCENTILES: readonly MemberLine[] = [
  { member: 'p50', label: 'p50', tone: 'blue' },
  { member: 'p95', label: 'p95', tone: 'orange' },
  { member: 'p99', label: 'p99', tone: 'red' },
]
export const MEAN: readonly MemberLine[] = [{ member: 'mean', label: 'Mean' }]
export const MEAN_AND_MAX: readonly MemberLine[] = [
  { member: 'mean', label: 'Mean' },
  { member: 'max', label: 'Maximum', tone: 'orange' },
]

export const UTILIZATIONS = {
  gpuBusy: {
    name: 'GPU busy',
    meaning: 'Share of the time in which GPUs held by replicas were busy, as reported by the hardware',
  },
  kvCache: {
    name: 'KV-cache usage',
    meaning: 'Share of the engines’ key-value cache in use; the autoscaler can scale on it',
  },
  committedShare: {
    name: 'Committed share',
    meaning: 'Share of the GPU allotment that endpoints commit, whether they run or not',
  },
} as const

export const seconds = (value: number) => formatDuration(value * 1_000)
export const share = (value: number) => formatShare(value)
export const calls = (value: number) => (value < 1 ? String(Number(value.toFixed(2))) : formatCompact(value))

/** Texts of the chart of prompt tokens in flight. */
export const PREFILL_QUEUE = {
  title: 'Prefill queue',
  description: 'Prompt tokens sent to each replica and not cached there, until the response begins',
  empty: 'No replica was ready in this time range',
} as const

/** Texts of the chart of cached prompt tokens. */
export const HIT_RATE = {
  title: 'Cache hit rate',
  description: 'Prompt tokens that the engine had cached, as a share of all prompt tokens',
  empty: 'No prompts in this time range',
  members: [],
} as const

const formatTotal = (series: Series, member: Member, format: (value: number) => string) => {
  const value = totalOf(series, member)
  return value === undefined ? undefined : format(value)
}

export const totalCount = (series: Series) => `${formatCount(totalOf(series, 'count') ?? 0)} total`
export const overallPercentiles = (series: Series) => {
  const [p50, p95] = [formatTotal(series, 'p50', seconds), formatTotal(series, 'p95', seconds)]
  return p50 && p95 ? `p50 ${p50}, p95 ${p95}` : ''
}
export const overallMean = (format: (value: number) => string) => (series: Series) => {
  const mean = formatTotal(series, 'mean', format)
  return mean ? `${mean} on average` : ''
}
/** Mean GPU busy share, and the share of the held time that was measured. */
export function overallBusyShare(series: Series): string {
  const only = series.data.length === 1 ? series.data[0]?.total : undefined
  if (only?.measured == null) return ''
  const measured = `${formatShare(only.measured)} of the time measured`
  return only.mean == null ? measured : `${formatShare(only.mean)} on average, ${measured}`
}
export function overallHitRate(series: Series): string {
  const [cached, prompt] = [totalOf(series, 'cached'), totalOf(series, 'prompt')]
  return cached === undefined || !prompt ? '' : `${formatShare(cached / prompt)} overall`
}

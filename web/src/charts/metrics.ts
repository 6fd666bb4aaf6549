/** How each metric is drawn and said. The three that others call "utilization" have names of their own. */

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
  { member: 'max', label: 'Highest', tone: 'orange' },
]

export const UTILIZATIONS = {
  gpuBusy: {
    name: 'GPU busy',
    meaning: 'Part of the time in which the GPUs that replicas held were computing, as the hardware reports it',
  },
  kvCache: {
    name: 'KV-cache use',
    meaning: 'How full the engines’ memory for running calls was; the autoscaler can follow it',
  },
  committedShare: {
    name: 'Committed share',
    meaning: 'Part of the GPU allotment that endpoints reserve, whether they run or not',
  },
} as const

export const seconds = (value: number) => formatDuration(value * 1_000)
export const share = (value: number) => formatShare(value)
export const calls = (value: number) => (value < 1 ? String(Number(value.toFixed(2))) : formatCompact(value))

const said = (series: Series, member: Member, format: (value: number) => string) => {
  const value = totalOf(series, member)
  return value === undefined ? undefined : format(value)
}

export const countInAll = (series: Series) => `${formatCount(totalOf(series, 'count') ?? 0)} in all`
export const percentilesInAll = (series: Series) => {
  const [p50, p95] = [said(series, 'p50', seconds), said(series, 'p95', seconds)]
  return p50 && p95 ? `p50 ${p50}, p95 ${p95}` : ''
}
export const meanInAll = (format: (value: number) => string) => (series: Series) => {
  const mean = said(series, 'mean', format)
  return mean ? `${mean} on average` : ''
}
/** How much of the held time is behind the figure. */
export function busyInAll(series: Series): string {
  const only = series.data.length === 1 ? series.data[0]?.total : undefined
  if (only?.measured == null) return ''
  const measured = `${formatShare(only.measured)} of the time measured`
  return only.mean == null ? measured : `${formatShare(only.mean)} on average, ${measured}`
}

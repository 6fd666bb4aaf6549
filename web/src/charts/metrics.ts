/** Lines, names and formats of metrics. The kinds of "utilization" have distinct names; the third is "committed share". */

import type { MetricParameters, Series } from '../api/series'
import { formatCompact, formatCount, formatDuration, formatShare } from '../ui/format'
import type { SeriesChartStyle } from './SeriesChart'
import { cacheHitRate, type Member, type MemberLine, totalOf } from './shape'

const COUNT: readonly MemberLine[] = [{ member: 'count', label: 'Calls' }]
const ERRORS: readonly MemberLine[] = [{ member: 'count', label: 'Errors', tone: 'red' }]
const TOKENS: readonly MemberLine[] = [
  { member: 'prompt', label: 'Prompt', tone: 'blue' },
  { member: 'cached', label: 'Prompt, cached', tone: 'gray' },
  { member: 'completion', label: 'Completion', tone: 'orange' },
]
const PERCENTILES: readonly MemberLine[] = [
  { member: 'p50', label: 'p50', tone: 'blue' },
  { member: 'p95', label: 'p95', tone: 'orange' },
  { member: 'p99', label: 'p99', tone: 'red' },
]
const MEAN: readonly MemberLine[] = [{ member: 'mean', label: 'Mean' }]
const MEAN_AND_MAX: readonly MemberLine[] = [
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
} as const

export const seconds = (value: number) => formatDuration(value * 1_000)
const share = (value: number) => formatShare(value)
export const calls = (value: number) => (value < 1 ? String(Number(value.toPrecision(2))) : formatCompact(value))

/** Share of failed calls from which it is shown in red. */
const MANY = 0.05
export const isMany = (failed: number, all: number) => failed > 0 && failed / all >= MANY

const formatTotal = (series: Series, member: Member, format: (value: number) => string) => {
  const value = totalOf(series, member)
  return value === undefined ? undefined : format(value)
}

const totalCount = (series: Series) => `${formatCount(totalOf(series, 'count') ?? 0)} total`
const overallPercentiles = (series: Series) => {
  const [p50, p95] = [formatTotal(series, 'p50', seconds), formatTotal(series, 'p95', seconds)]
  return p50 && p95 ? `p50 ${p50}, p95 ${p95}` : ''
}
const overallMean = (format: (value: number) => string) => (series: Series) => {
  const mean = formatTotal(series, 'mean', format)
  return mean ? `${mean} on average` : ''
}
/** Mean GPU busy share, and the share of the held time that was measured. */
function overallBusyShare(series: Series): string {
  const only = series.data.length === 1 ? series.data[0]?.total : undefined
  if (only?.measured == null) return ''
  const measured = `${formatShare(only.measured)} of the time measured`
  return only.mean == null ? measured : `${formatShare(only.mean)} on average, ${measured}`
}
function overallHitRate(series: Series): string {
  const [cached, prompt] = [totalOf(series, 'cached'), totalOf(series, 'prompt')]
  return cached === undefined || !prompt ? '' : `${formatShare(cached / prompt)} overall`
}

type Chart = Omit<SeriesChartStyle, 'nameOf' | 'onZoom' | 'marks'> & { metric: MetricParameters['metric'] }
const chart = <T extends Chart>(style: T) => style

/** Metrics and how they are drawn. */
export const CHARTS = {
  requests: chart({
    metric: 'requests',
    title: 'Requests',
    kind: 'bar',
    members: COUNT,
    groupMember: 'count',
    formatValue: calls,
    total: totalCount,
    empty: 'No calls in this time range',
  }),
  errors: chart({
    metric: 'errors',
    title: 'Errors by code',
    kind: 'bar',
    members: ERRORS,
    groupMember: 'count',
    formatValue: calls,
    total: totalCount,
    isErrors: true,
    empty: 'No errors in this time range',
  }),
  tokens: chart({
    metric: 'tokens',
    title: 'Tokens',
    kind: 'bar',
    members: TOKENS,
    groupMember: 'completion',
    formatValue: calls,
    empty: 'No tokens in this time range',
  }),
  rateLimitHits: chart({
    metric: 'rate_limit_hits',
    title: 'Rate-limit hits',
    description: 'Calls rejected with 429: a per-minute limit, the monthly quota or a budget',
    kind: 'bar',
    members: ERRORS,
    groupMember: 'count',
    formatValue: calls,
    total: totalCount,
    isErrors: true,
    empty: 'No calls were rejected by a limit',
  }),
  hitRate: chart({
    metric: 'tokens',
    title: 'Cache hit rate',
    description: 'Prompt tokens that the engine had cached, as a share of all prompt tokens',
    members: [],
    shape: cacheHitRate,
    formatValue: share,
    total: overallHitRate,
    empty: 'No prompts in this time range',
  }),
  ttft: chart({
    metric: 'ttft',
    title: 'Time to first token',
    members: PERCENTILES,
    groupMember: 'p95',
    formatValue: seconds,
    total: overallPercentiles,
    empty: 'No streamed responses in this time range',
  }),
  latency: chart({
    metric: 'latency',
    title: 'Latency',
    description: 'From the request to the end of its response',
    members: PERCENTILES,
    groupMember: 'p95',
    formatValue: seconds,
    total: overallPercentiles,
    empty: 'No responses in this time range',
  }),
  inFlight: chart({
    metric: 'in_flight',
    title: 'Calls in progress',
    description: 'In flight and held; the autoscaler can scale on it',
    members: MEAN,
    formatValue: calls,
    total: overallMean(calls),
    isWhole: true,
    empty: 'No calls in this time range',
  }),
  gpuBusy: chart({
    metric: 'gpu_busy',
    title: UTILIZATIONS.gpuBusy.name,
    description: UTILIZATIONS.gpuBusy.meaning,
    members: MEAN,
    groupMember: 'mean',
    formatValue: share,
    total: overallBusyShare,
    empty: 'Not measured in this time range: no GPU was held, or the driver reports no data',
  }),
  gpus: chart({
    metric: 'gpus',
    title: 'GPUs held',
    description: 'By replicas, from their start to their end, and how many of them were busy',
    members: [
      { member: 'held', label: 'Held', tone: 'blue' },
      { member: 'busy', label: 'Busy', tone: 'orange' },
    ],
    formatValue: calls,
    isAmount: true,
    isWhole: true,
    empty: 'No GPU was held in this time range',
  }),
  replicas: chart({
    metric: 'replicas',
    title: 'Replicas',
    description: 'Desired by the endpoint’s settings or the autoscaler, and ready. Dashed lines are its decisions',
    members: [
      { member: 'desired', label: 'Desired', tone: 'orange' },
      { member: 'ready', label: 'Ready', tone: 'blue' },
    ],
    formatValue: calls,
    isWhole: true,
    empty: 'No replicas were counted in this time range',
  }),
  kvCache: chart({
    metric: 'kv_cache',
    title: UTILIZATIONS.kvCache.name,
    description: UTILIZATIONS.kvCache.meaning,
    members: MEAN_AND_MAX,
    groupMember: 'mean',
    formatValue: share,
    total: overallMean(share),
    empty: 'No replica reported it in this time range',
  }),
  prefillQueue: chart({
    metric: 'prefill_queue',
    title: 'Prefill queue',
    description: 'Prompt tokens sent to each replica and not cached there, until the response begins',
    members: MEAN,
    groupMember: 'mean',
    formatValue: calls,
    empty: 'No replica was ready in this time range',
  }),
} as const

/** Latency percentiles of a model. */

import type { Series } from '../../api/series'
import { seconds } from '../../charts/metrics'
import { totalOf } from '../../charts/shape'

export type Times = { median: string; p95: string; p99: string }

/** Undefined if nothing was measured in the time range. */
export function timesOf(series: Series | undefined): Times | undefined {
  const [p50, p95, p99] = (['p50', 'p95', 'p99'] as const).map((member) => totalOf(series, member))
  if (p50 === undefined || p95 === undefined || p99 === undefined) return undefined
  return { median: seconds(p50), p95: seconds(p95), p99: seconds(p99) }
}

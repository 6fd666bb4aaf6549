import { Skeleton } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { type Metric, metricQuery, type Window } from '../../api/series'
import { isMany, seconds } from '../../charts/metrics'
import { totalOf } from '../../charts/shape'
import { formatCompact, formatShare } from '../../ui/format'
import { Loading } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'
import type { CallFilter } from './targets'

type Props = { workspaceId: string; window: Window; only: CallFilter }

const METRICS = [
  'requests',
  'errors',
  'tokens',
  'ttft',
  'latency',
  'rate_limit_hits',
  'cancelled',
] as const satisfies Metric[]

/** Totals of the whole time range. */
export function Headlines({ workspaceId, window, only }: Props) {
  const queries = useQueries({
    queries: METRICS.map((metric) => metricQuery(workspaceId, { metric, ...only }, window)),
  })
  const [requests, errors, tokens, ttft, latency, hits, cancelled] = queries.map((query) => query.data)
  const count = totalOf(requests, 'count') ?? 0
  const failed = totalOf(errors, 'count') ?? 0
  const [p95, latencyP95] = [totalOf(ttft, 'p95'), totalOf(latency, 'p95')]
  const prompt = totalOf(tokens, 'prompt') ?? 0
  const completion = totalOf(tokens, 'completion') ?? 0
  return (
    <Panel title="Summary">
      {queries.some((query) => query.isPending) ? (
        <Loading>
          <Skeleton h={56} />
        </Loading>
      ) : (
        <Stats>
          <Stat label="Requests" value={formatCompact(count)} />
          <Stat
            label="Errors"
            value={formatCompact(failed)}
            isBad={isMany(failed, count)}
            note={count ? `${formatShare(failed / count)} of all` : undefined}
          />
          <Stat
            label="Tokens"
            value={formatCompact(prompt + completion)}
            note={`${formatCompact(prompt)} in, ${formatCompact(completion)} out`}
          />
          <Stat label="Time to first token, p95" value={p95 === undefined ? '–' : seconds(p95)} />
          <Stat label="Latency, p95" value={latencyP95 === undefined ? '–' : seconds(latencyP95)} />
          <Stat label="Rate-limit hits" value={formatCompact(totalOf(hits, 'count') ?? 0)} />
          <Stat label="Cancelled" value={formatCompact(totalOf(cancelled, 'count') ?? 0)} note="by clients" />
        </Stats>
      )}
    </Panel>
  )
}

import { Text } from '@mantine/core'
import type { SeriesLine, Window } from '../../api/series'
import type { SurfaceName } from '../../api/surfaces'
import { MetricChart } from '../../charts/MetricChart'
import {
  COUNT,
  calls,
  ERRORS,
  HIT_RATE,
  MEAN,
  MEAN_AND_MAX,
  overallBusyShare,
  overallHitRate,
  overallMean,
  overallPercentiles,
  PERCENTILES,
  PREFILL_QUEUE,
  seconds,
  share,
  TOKENS,
  totalCount,
  UTILIZATIONS,
} from '../../charts/metrics'
import { cacheHitRate } from '../../charts/shape'
import { Panel } from '../../ui/Panel'
import { ByApi } from './ByApi'
import { Headlines } from './Headlines'
import classes from './Observability.module.css'
import { appliesToEndpoints, type CallFilter } from './targets'

type Grouping = '' | 'model' | 'key' | 'endpoint'
type Props = {
  workspaceId: string
  window: Window
  only: CallFilter
  by: Grouping
  nameOf: (line: SeriesLine) => string
  onZoom: (from: number, to: number) => void
  /** Opens the requests of an API. */
  onSurface: (surface: SurfaceName) => void
}

/** All charts of a workspace. Zooming one zooms all of them. */
export function Dashboard({ workspaceId, window, only, by, nameOf, onZoom, onSurface }: Props) {
  const groupBy = by || undefined
  const common = { workspaceId, window, onZoom, nameOf }
  const titleFor = (title: string, member: string) => (by ? `${title} (${member})` : title)
  return (
    <div className={classes.stack}>
      <Headlines workspaceId={workspaceId} window={window} only={only} />
      <div className={classes.charts}>
        <MetricChart
          {...common}
          title="Requests"
          kind="bar"
          query={{ metric: 'requests', ...only, groupBy }}
          members={COUNT}
          groupMember="count"
          formatValue={calls}
          total={totalCount}
          empty="No calls in this time range"
        />
        <MetricChart
          {...common}
          title="Errors by code"
          kind="bar"
          query={{ metric: 'errors', ...only, groupBy: 'code' }}
          members={ERRORS}
          groupMember="count"
          formatValue={calls}
          total={totalCount}
          empty="No errors in this time range"
        />
        <MetricChart
          {...common}
          title={titleFor('Tokens', 'completion')}
          kind="bar"
          query={{ metric: 'tokens', ...only, groupBy }}
          members={TOKENS}
          groupMember="completion"
          formatValue={calls}
          empty="No tokens in this time range"
        />
        <MetricChart
          {...common}
          title="Rate-limit hits"
          description="Calls rejected with 429: a per-minute limit or the monthly quota"
          kind="bar"
          query={{ metric: 'rate_limit_hits', ...only, groupBy }}
          members={ERRORS}
          groupMember="count"
          formatValue={calls}
          total={totalCount}
          empty="No calls were rejected by a limit"
        />
        <MetricChart
          {...common}
          {...HIT_RATE}
          query={{ metric: 'tokens', ...only, groupBy }}
          shape={cacheHitRate}
          formatValue={share}
          total={by ? undefined : overallHitRate}
        />
        <ByApi workspaceId={workspaceId} window={window} only={only} onOpen={onSurface} />
      </div>
      <div className={classes.pairs}>
        <MetricChart
          {...common}
          title={titleFor('Time to first token', 'p95')}
          query={{ metric: 'ttft', ...only, groupBy }}
          members={PERCENTILES}
          groupMember="p95"
          formatValue={seconds}
          total={by ? undefined : overallPercentiles}
          empty="No streamed responses in this time range"
        />
        <MetricChart
          {...common}
          title={titleFor('Latency', 'p95')}
          description="From the request to the end of its response"
          query={{ metric: 'latency', ...only, groupBy }}
          members={PERCENTILES}
          groupMember="p95"
          formatValue={seconds}
          total={by ? undefined : overallPercentiles}
          empty="No responses in this time range"
        />
      </div>
      {appliesToEndpoints(only) ? (
        <div className={classes.pairs}>
          <MetricChart
            {...common}
            title={UTILIZATIONS.gpuBusy.name}
            description={UTILIZATIONS.gpuBusy.meaning}
            query={{ metric: 'gpu_busy', endpoint: only.endpoint, groupBy: by === 'endpoint' ? by : undefined }}
            members={MEAN}
            groupMember="mean"
            formatValue={share}
            total={overallBusyShare}
            empty="Not measured in this time range: no GPU was held, or the driver reports no data"
          />
          <MetricChart
            {...common}
            title={UTILIZATIONS.kvCache.name}
            description={UTILIZATIONS.kvCache.meaning}
            query={{ metric: 'kv_cache', endpoint: only.endpoint, groupBy: by === 'endpoint' ? by : undefined }}
            members={MEAN_AND_MAX}
            groupMember="mean"
            formatValue={share}
            total={by === 'endpoint' ? undefined : overallMean(share)}
            empty="No replica reported it in this time range"
          />
          <MetricChart
            {...common}
            {...PREFILL_QUEUE}
            query={{
              metric: 'prefill_queue',
              endpoint: only.endpoint,
              groupBy: only.endpoint ? 'replica' : 'endpoint',
            }}
            members={MEAN}
            groupMember="mean"
            formatValue={calls}
          />
        </div>
      ) : (
        <Panel
          title={`${UTILIZATIONS.gpuBusy.name}, ${UTILIZATIONS.kvCache.name} and ${PREFILL_QUEUE.title.toLowerCase()}`}
        >
          <Text c="dimmed">
            They are measured at dedicated endpoints, not per key, model or API. Remove these filters to see them.
          </Text>
        </Panel>
      )}
    </div>
  )
}

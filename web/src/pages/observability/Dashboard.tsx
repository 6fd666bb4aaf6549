import { Text } from '@mantine/core'
import type { SeriesLine, Window } from '../../api/series'
import { MetricChart } from '../../charts/MetricChart'
import {
  busyInAll,
  COUNT,
  calls,
  countInAll,
  ERRORS,
  MEAN,
  MEAN_AND_MAX,
  meanInAll,
  PERCENTILES,
  percentilesInAll,
  seconds,
  share,
  TOKENS,
  UTILIZATIONS,
} from '../../charts/metrics'
import { Panel } from '../../ui/Panel'
import { Headlines } from './Headlines'
import classes from './Observability.module.css'
import { knowsEndpoints } from './targets'

type By = '' | 'model' | 'key' | 'endpoint'
type Props = {
  workspaceId: string
  window: Window
  only: { model?: string; endpoint?: string; key?: string }
  by: By
  nameOf: (line: SeriesLine) => string
  onZoom: (from: number, to: number) => void
}

/** All charts of a workspace. Dragging over one zooms all of them. */
export function Dashboard({ workspaceId, window, only, by, nameOf, onZoom }: Props) {
  const groupBy = by || undefined
  const common = { workspaceId, window, onZoom, nameOf }
  const ofGroup = (what: string, member: string) => (by ? `${what} (${member})` : what)
  return (
    <div className={classes.stack}>
      <Headlines workspaceId={workspaceId} window={window} only={only} />
      <div className={classes.charts}>
        <MetricChart
          {...common}
          title="Requests"
          kind="bar"
          asked={{ metric: 'requests', ...only, groupBy }}
          members={COUNT}
          groupMember="count"
          formatValue={calls}
          total={countInAll}
          empty="No calls in this span"
        />
        <MetricChart
          {...common}
          title="Errors by code"
          kind="bar"
          asked={{ metric: 'errors', ...only, groupBy: 'code' }}
          members={ERRORS}
          groupMember="count"
          formatValue={calls}
          total={countInAll}
          empty="No errors in this span"
        />
        <MetricChart
          {...common}
          title={ofGroup('Tokens', 'completion')}
          kind="bar"
          asked={{ metric: 'tokens', ...only, groupBy }}
          members={TOKENS}
          groupMember="completion"
          formatValue={calls}
          empty="No tokens in this span"
        />
        <MetricChart
          {...common}
          title="Rate-limit hits"
          description="Calls refused with 429: a limit by the minute, or the monthly quota"
          kind="bar"
          asked={{ metric: 'rate_limit_hits', ...only, groupBy }}
          members={ERRORS}
          groupMember="count"
          formatValue={calls}
          total={countInAll}
          empty="No call was refused for a limit"
        />
        <MetricChart
          {...common}
          title={ofGroup('Time to first token', 'p95')}
          asked={{ metric: 'ttft', ...only, groupBy }}
          members={PERCENTILES}
          groupMember="p95"
          formatValue={seconds}
          total={by ? undefined : percentilesInAll}
          empty="No streamed answers in this span"
        />
        <MetricChart
          {...common}
          title={ofGroup('Latency', 'p95')}
          description="From the call to the end of its answer"
          asked={{ metric: 'latency', ...only, groupBy }}
          members={PERCENTILES}
          groupMember="p95"
          formatValue={seconds}
          total={by ? undefined : percentilesInAll}
          empty="No answers in this span"
        />
      </div>
      {knowsEndpoints(only) ? (
        <div className={classes.charts}>
          <MetricChart
            {...common}
            title={UTILIZATIONS.gpuBusy.name}
            description={UTILIZATIONS.gpuBusy.meaning}
            asked={{ metric: 'gpu_busy', endpoint: only.endpoint, groupBy: by === 'endpoint' ? by : undefined }}
            members={MEAN}
            groupMember="mean"
            formatValue={share}
            total={busyInAll}
            empty="Not measured in this span: no GPU was held, or its driver tells nothing"
          />
          <MetricChart
            {...common}
            title={UTILIZATIONS.kvCache.name}
            description={UTILIZATIONS.kvCache.meaning}
            asked={{ metric: 'kv_cache', endpoint: only.endpoint, groupBy: by === 'endpoint' ? by : undefined }}
            members={MEAN_AND_MAX}
            groupMember="mean"
            formatValue={share}
            total={by === 'endpoint' ? undefined : meanInAll(share)}
            empty="No replica reported it in this span"
          />
        </div>
      ) : (
        <Panel title={`${UTILIZATIONS.gpuBusy.name} and ${UTILIZATIONS.kvCache.name}`}>
          <Text c="dimmed">
            Both are measured at dedicated endpoints and know neither keys nor models: take these filters away to see
            them.
          </Text>
        </Panel>
      )}
    </div>
  )
}

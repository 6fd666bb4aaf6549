import type { Endpoint } from '../../../api/endpoints'
import { MetricChart } from '../../../charts/MetricChart'
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
  totalCount,
  UTILIZATIONS,
} from '../../../charts/metrics'
import { cacheHitRate } from '../../../charts/shape'
import { TimeRangePicker } from '../../../charts/TimeRangePicker'
import { TIME_RANGE_FILTERS, windowOf, zoomTo } from '../../../charts/time-range'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Endpoints.module.css'

/** Metrics of an endpoint over time. */
export function EndpointCharts({ endpoint }: { endpoint: Endpoint }) {
  const [values, change] = useFilters(TIME_RANGE_FILTERS)
  const common = {
    workspaceId: endpoint.workspaceId,
    window: windowOf(values),
    onZoom: (from: number, to: number) => change(zoomTo(from, to)),
  }
  const target = { endpoint: endpoint.name }
  return (
    <div className={classes.stack}>
      <TimeRangePicker values={values} change={change} />
      <div className={classes.charts}>
        <MetricChart
          {...common}
          title="Requests"
          kind="bar"
          query={{ metric: 'requests', ...target }}
          members={COUNT}
          formatValue={calls}
          total={totalCount}
          empty="No calls in this time range"
        />
        <MetricChart
          {...common}
          title="Errors"
          kind="bar"
          query={{ metric: 'errors', ...target, groupBy: 'code' }}
          members={ERRORS}
          groupMember="count"
          nameOf={(line) => line.code ?? 'others'}
          formatValue={calls}
          total={totalCount}
          empty="No errors in this time range"
        />
        <MetricChart
          {...common}
          title={UTILIZATIONS.kvCache.name}
          description="Share of the engines’ key-value cache in use"
          query={{ metric: 'kv_cache', ...target }}
          members={MEAN_AND_MAX}
          formatValue={share}
          total={overallMean(share)}
          empty="No replica reported it in this time range"
        />
        <MetricChart
          {...common}
          title={UTILIZATIONS.gpuBusy.name}
          description="Share of the time held GPUs were busy"
          query={{ metric: 'gpu_busy', ...target }}
          members={MEAN}
          formatValue={share}
          total={overallBusyShare}
          empty="Not measured in this time range: no GPU was held, or the driver reports no data"
        />
        <MetricChart
          {...common}
          {...HIT_RATE}
          query={{ metric: 'tokens', ...target }}
          shape={cacheHitRate}
          formatValue={share}
          total={overallHitRate}
        />
        <MetricChart
          {...common}
          {...PREFILL_QUEUE}
          query={{ metric: 'prefill_queue', ...target, groupBy: 'replica' }}
          members={MEAN}
          groupMember="mean"
          nameOf={(line) => line.replica ?? 'All others'}
          formatValue={calls}
        />
        <MetricChart
          {...common}
          title="Time to first token"
          query={{ metric: 'ttft', ...target }}
          members={PERCENTILES}
          formatValue={seconds}
          total={overallPercentiles}
          empty="No streamed responses in this time range"
        />
        <MetricChart
          {...common}
          title="Calls in progress"
          description="In flight and held; the autoscaler can scale on it"
          query={{ metric: 'in_flight', ...target }}
          members={MEAN}
          formatValue={calls}
          total={overallMean(calls)}
          empty="No calls in this time range"
        />
      </div>
    </div>
  )
}

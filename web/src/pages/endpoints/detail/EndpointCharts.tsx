import type { Endpoint } from '../../../api/endpoints'
import { MetricChart } from '../../../charts/MetricChart'
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
  UTILIZATIONS,
} from '../../../charts/metrics'
import { SpanPicker } from '../../../charts/SpanPicker'
import { SPAN_FILTERS, windowOf, zoomTo } from '../../../charts/spans'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Endpoints.module.css'

/** What the endpoint did over time. */
export function EndpointCharts({ endpoint }: { endpoint: Endpoint }) {
  const [values, change] = useFilters(SPAN_FILTERS)
  const common = {
    workspaceId: endpoint.workspaceId,
    window: windowOf(values),
    onZoom: (from: number, to: number) => change(zoomTo(from, to)),
  }
  const of = { endpoint: endpoint.name }
  return (
    <div className={classes.stack}>
      <SpanPicker values={values} change={change} />
      <div className={classes.charts}>
        <MetricChart
          {...common}
          title="Requests"
          kind="bar"
          asked={{ metric: 'requests', ...of }}
          members={COUNT}
          formatValue={calls}
          total={countInAll}
          empty="No calls in this span"
        />
        <MetricChart
          {...common}
          title="Errors"
          kind="bar"
          asked={{ metric: 'errors', ...of, groupBy: 'code' }}
          members={ERRORS}
          groupMember="count"
          nameOf={(line) => line.code ?? 'others'}
          formatValue={calls}
          total={countInAll}
          empty="No errors in this span"
        />
        <MetricChart
          {...common}
          title={UTILIZATIONS.kvCache.name}
          description="How full the engines’ memory for running calls is"
          asked={{ metric: 'kv_cache', ...of }}
          members={MEAN_AND_MAX}
          formatValue={share}
          total={meanInAll(share)}
          empty="No replica reported it in this span"
        />
        <MetricChart
          {...common}
          title={UTILIZATIONS.gpuBusy.name}
          description="How much of the time held GPUs computed"
          asked={{ metric: 'gpu_busy', ...of }}
          members={MEAN}
          formatValue={share}
          total={busyInAll}
          empty="Not measured in this span: no GPU was held, or its driver tells nothing"
        />
        <MetricChart
          {...common}
          title="Time to first token"
          asked={{ metric: 'ttft', ...of }}
          members={PERCENTILES}
          formatValue={seconds}
          total={percentilesInAll}
          empty="No streamed answers in this span"
        />
        <MetricChart
          {...common}
          title="Calls under way"
          description="In flight and held, against which the autoscaler may work"
          asked={{ metric: 'in_flight', ...of }}
          members={MEAN}
          formatValue={calls}
          total={meanInAll(calls)}
          empty="No calls in this span"
        />
      </div>
    </div>
  )
}

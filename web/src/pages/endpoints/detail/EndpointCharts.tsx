import { useQuery } from '@tanstack/react-query'
import { decisionsQuery, type Endpoint } from '../../../api/endpoints'
import { MetricChart } from '../../../charts/MetricChart'
import { CHARTS } from '../../../charts/metrics'
import { TimeRangePicker } from '../../../charts/TimeRangePicker'
import { TIME_RANGE_FILTERS, zoomTo } from '../../../charts/time-range'
import { useWindow } from '../../../charts/use-window'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Endpoints.module.css'
import { marksOf } from './events'

/** Metrics of an endpoint over time. */
export function EndpointCharts({ endpoint }: { endpoint: Endpoint }) {
  const [values, change] = useFilters(TIME_RANGE_FILTERS)
  const common = {
    workspaceId: endpoint.workspaceId,
    window: useWindow(values),
    onZoom: (from: number, to: number) => change(zoomTo(from, to)),
  }
  const query = { endpoint: endpoint.name }
  const decisions = useQuery(decisionsQuery(endpoint.workspaceId, endpoint.name, common.window))
  const byCode = { ...query, groupBy: 'code' } as const
  const byReplica = { ...query, groupBy: 'replica' } as const
  return (
    <div className={classes.stack}>
      <TimeRangePicker values={values} change={change} />
      <div className={classes.charts}>
        <MetricChart {...common} {...CHARTS.replicas} query={query} marks={marksOf(decisions.data ?? [])} />
        <MetricChart {...common} {...CHARTS.requests} query={query} />
        <MetricChart {...common} {...CHARTS.errors} query={byCode} nameOf={({ code }) => code ?? 'others'} />
        <MetricChart {...common} {...CHARTS.gpus} query={query} />
        <MetricChart {...common} {...CHARTS.kvCache} query={query} />
        <MetricChart {...common} {...CHARTS.gpuBusy} query={query} />
        <MetricChart {...common} {...CHARTS.hitRate} query={query} />
        <MetricChart
          {...common}
          {...CHARTS.prefillQueue}
          query={byReplica}
          nameOf={({ replica }) => replica ?? 'All others'}
        />
        <MetricChart {...common} {...CHARTS.ttft} query={query} />
        <MetricChart {...common} {...CHARTS.inFlight} query={query} />
      </div>
    </div>
  )
}

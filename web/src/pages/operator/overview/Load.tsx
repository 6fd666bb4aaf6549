import { useQueries } from '@tanstack/react-query'
import { installationMetricQuery } from '../../../api/operator/installation'
import type { Metric } from '../../../api/series'
import { CHARTS } from '../../../charts/metrics'
import { SeriesChart, type SeriesResult } from '../../../charts/SeriesChart'
import { errorRate, perSecond } from '../../../charts/shape'
import { TimeRangePicker } from '../../../charts/TimeRangePicker'
import { DAY_RANGE_FILTERS, zoomTo } from '../../../charts/time-range'
import { useWindow } from '../../../charts/use-window'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Operator.module.css'
import { LOAD, type LoadChart } from './load-charts'

const METRICS = ['requests', 'tokens', 'errors', 'latency', 'gpus'] as const satisfies Metric[]

/** Calls, tokens, errors and latency of all workspaces over time, and the GPUs of endpoints. Zooming one zooms all. */
export function Load() {
  const [filters, change] = useFilters(DAY_RANGE_FILTERS)
  const window = useWindow(filters)
  const [requests, tokens, errors, latency, gpus] = useQueries({
    queries: METRICS.map((metric) => installationMetricQuery(metric, window)),
  }) as [SeriesResult, SeriesResult, SeriesResult, SeriesResult, SeriesResult]
  const rates: Record<LoadChart, SeriesResult> = {
    calls: { ...requests, data: requests.data && perSecond(requests.data) },
    tokens: { ...tokens, data: tokens.data && perSecond(tokens.data) },
    errors: {
      ...requests,
      error: requests.error ?? errors.error,
      data: requests.data && errors.data && errorRate(requests.data, errors.data),
      refetch: () => [requests.refetch(), errors.refetch()],
    },
    latency,
  }
  const onZoom = (from: number, to: number) => change(zoomTo(from, to))
  return (
    <>
      <TimeRangePicker values={filters} change={change} withMoments />
      <div className={classes.pairs}>
        <SeriesChart {...LOAD.calls} series={rates.calls} onZoom={onZoom} />
        <SeriesChart {...LOAD.tokens} series={rates.tokens} onZoom={onZoom} />
        <SeriesChart {...LOAD.errors} series={rates.errors} onZoom={onZoom} />
        <SeriesChart {...CHARTS.latency} description={undefined} series={rates.latency} onZoom={onZoom} />
        <SeriesChart {...CHARTS.gpus} series={gpus} onZoom={onZoom} />
      </div>
    </>
  )
}

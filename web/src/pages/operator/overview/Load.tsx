import { useQueries } from '@tanstack/react-query'
import { installationMetricQuery } from '../../../api/operator/installation'
import type { Metric } from '../../../api/series'
import { CHARTS } from '../../../charts/metrics'
import { SeriesChart, type SeriesResult } from '../../../charts/SeriesChart'
import { errorRate, perSecond } from '../../../charts/shape'
import { ZoneNote } from '../../../charts/ZoneNote'
import classes from '../Operator.module.css'
import { DAY, LOAD, type LoadChart } from './load-charts'

const METRICS = ['requests', 'tokens', 'errors', 'latency', 'gpus'] as const satisfies Metric[]

/** Calls, tokens, errors and latency of all workspaces over a day, and the GPUs of endpoints. */
export function Load() {
  const [requests, tokens, errors, latency, gpus] = useQueries({
    queries: METRICS.map((metric) => installationMetricQuery(metric, DAY)),
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
  return (
    <>
      <ZoneNote />
      <div className={classes.pairs}>
        <SeriesChart {...LOAD.calls} series={rates.calls} />
        <SeriesChart {...LOAD.tokens} series={rates.tokens} />
        <SeriesChart {...LOAD.errors} series={rates.errors} />
        <SeriesChart {...CHARTS.latency} description={undefined} series={rates.latency} />
        <SeriesChart {...CHARTS.gpus} series={gpus} />
      </div>
    </>
  )
}

import { useQuery } from '@tanstack/react-query'
import { type MetricParameters, metricQuery, type Window } from '../api/series'
import { SeriesChart, type SeriesChartStyle } from './SeriesChart'

type Props = SeriesChartStyle & {
  workspaceId: string
  metric: MetricParameters['metric']
  query: Omit<MetricParameters, 'from' | 'to' | 'metric'>
  window: Window
}

/** Panel with one metric of a workspace over time. */
export function MetricChart({ workspaceId, metric, query, window, ...style }: Props) {
  const series = useQuery(metricQuery(workspaceId, { metric, ...query }, window))
  return <SeriesChart {...style} series={series} hasGroups={!!query.groupBy} />
}

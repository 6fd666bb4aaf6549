import { useQuery } from '@tanstack/react-query'
import { type MetricParameters, metricQuery, type Window } from '../api/series'
import { SeriesChart, type SeriesChartStyle } from './SeriesChart'

type Props = SeriesChartStyle & {
  workspaceId: string
  query: Omit<MetricParameters, 'from' | 'to'>
  window: Window
}

/** Panel with one metric of a workspace over time. */
export function MetricChart({ workspaceId, query, window, ...style }: Props) {
  const series = useQuery(metricQuery(workspaceId, query, window))
  return <SeriesChart {...style} series={series} hasGroups={!!query.groupBy} />
}

import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type MetricParameters, metricQuery, type Series, type SeriesLine, type Window } from '../api/series'
import { Chart } from '../ui/charts/Chart'
import type { ChartProps } from '../ui/charts/series'
import { Loaded } from '../ui/Loaded'
import { Panel } from '../ui/Panel'
import classes from './charts.module.css'
import { byGroup, byMember, type ChartData, isEmpty, type Member, type MemberLine, withoutCached } from './shape'

const HEIGHT = 200

type Props = {
  title: string
  description?: string
  workspaceId: string
  query: Omit<MetricParameters, 'from' | 'to'>
  window: Window
  kind?: ChartProps['kind']
  /** Members drawn as lines if the series is not grouped. */
  members: readonly MemberLine[]
  /** Member drawn for each group of a grouped series. */
  groupMember?: Member
  nameOf?: (line: SeriesLine) => string
  /** Computes what is drawn, instead of `members` and `groupMember`. */
  shape?: (series: Series, nameOf?: (line: SeriesLine) => string) => ChartData
  formatValue: (value: number) => string
  /** Summary of the whole time range, beside the title. */
  total?: (series: Series) => ReactNode
  empty?: string
  onZoom?: ChartProps['onZoom']
}

/** Panel with one metric over time. */
export function MetricChart(props: Props) {
  const { title, description, workspaceId, query, window, total, empty } = props
  const series = useQuery(metricQuery(workspaceId, query, window))
  return (
    <Panel title={title} description={description} figure={series.data && total ? total(series.data) : null}>
      <Loaded query={series} skeleton={<Skeleton h={HEIGHT} />} errorTitle={`${title} could not be loaded`}>
        {(data) => <ChartBody {...props} series={data} empty={empty} />}
      </Loaded>
    </Panel>
  )
}

function ChartBody({
  series,
  title,
  kind,
  members,
  groupMember,
  nameOf,
  shape,
  formatValue,
  empty,
  onZoom,
  query,
}: Props & { series: Series }) {
  const isGrouped = !!query.groupBy && !!(groupMember || shape) && !!nameOf
  const shaped =
    shape?.(series, isGrouped ? nameOf : undefined) ??
    (isGrouped && groupMember ? byGroup(series, groupMember, nameOf) : withoutCached(byMember(series, members)))
  if (isEmpty(shaped, kind === 'bar' ? 'counts' : 'gauges')) {
    return <p className={classes.empty}>{empty ?? 'No data in this time range'}</p>
  }
  return (
    <Chart
      title={title}
      kind={kind}
      points={shaped.points}
      series={shaped.lines}
      formatValue={formatValue}
      height={HEIGHT}
      isWhole={kind === 'bar'}
      isGrouped={isGrouped}
      onZoom={onZoom}
    />
  )
}

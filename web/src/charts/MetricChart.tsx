import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type MetricAsked, metricQuery, type Series, type SeriesLine, type Window } from '../api/series'
import { Chart } from '../ui/charts/Chart'
import type { ChartProps } from '../ui/charts/series'
import { Loaded } from '../ui/Loaded'
import { Panel } from '../ui/Panel'
import classes from './charts.module.css'
import { byGroup, byMember, isEmpty, type Member, type MemberLine, withoutCached } from './shape'

const HEIGHT = 200

type Props = {
  title: string
  description?: string
  workspaceId: string
  asked: Omit<MetricAsked, 'from' | 'to'>
  window: Window
  kind?: ChartProps['kind']
  /** Lines of a chart without groups. */
  members: readonly MemberLine[]
  /** What is shown of each group where there are some. */
  groupMember?: Member
  nameOf?: (line: SeriesLine) => string
  formatValue: (value: number) => string
  /** A figure for the whole span, beside the title. */
  total?: (series: Series) => ReactNode
  empty?: string
  onZoom?: ChartProps['onZoom']
}

/** One metric over time, in a panel of its own. */
export function MetricChart(props: Props) {
  const { title, description, workspaceId, asked, window, total, empty } = props
  const series = useQuery(metricQuery(workspaceId, asked, window))
  return (
    <Panel title={title} description={description} figure={series.data && total ? total(series.data) : null}>
      <Loaded query={series} skeleton={<Skeleton h={HEIGHT} />} errorTitle={`${title} could not be loaded`}>
        {(data) => <Drawn {...props} series={data} empty={empty} />}
      </Loaded>
    </Panel>
  )
}

function Drawn({
  series,
  title,
  kind,
  members,
  groupMember,
  nameOf,
  formatValue,
  empty,
  onZoom,
  asked,
}: Props & { series: Series }) {
  const isGrouped = !!asked.groupBy && !!groupMember && !!nameOf
  const shaped = isGrouped ? byGroup(series, groupMember, nameOf) : withoutCached(byMember(series, members))
  if (isEmpty(shaped, kind === 'bar' ? 'counts' : 'gauges')) {
    return <p className={classes.nothing}>{empty ?? 'Nothing in this span'}</p>
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

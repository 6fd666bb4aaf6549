import { Skeleton } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Series, SeriesLine } from '../api/series'
import { Chart } from '../ui/charts/Chart'
import type { ChartProps } from '../ui/charts/series'
import { Loaded } from '../ui/Loaded'
import { Panel } from '../ui/Panel'
import classes from './charts.module.css'
import {
  byGroup,
  byMember,
  type ChartData,
  isEmpty,
  type Member,
  type MemberLine,
  withoutCached,
  withRest,
} from './shape'

const HEIGHT = 200

/** How a series is drawn. */
export type SeriesChartStyle = {
  title: string
  description?: string
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

type Props = SeriesChartStyle & { series: UseQueryResult<Series>; hasGroups: boolean }

/** Panel with one series. */
export function SeriesChart({ series, ...style }: Props) {
  const { title, description, total } = style
  return (
    <Panel title={title} description={description} figure={series.data && total ? total(series.data) : null}>
      <Loaded query={series} skeleton={<Skeleton h={HEIGHT} />} errorTitle={`${title} could not be loaded`}>
        {(data) => <ChartBody {...style} series={data} />}
      </Loaded>
    </Panel>
  )
}

function ChartBody({
  series,
  hasGroups,
  title,
  kind,
  members,
  groupMember,
  nameOf,
  shape,
  formatValue,
  empty,
  onZoom,
}: SeriesChartStyle & { series: Series; hasGroups: boolean }) {
  const isGrouped = hasGroups && !!(groupMember || shape) && !!nameOf
  const all =
    shape?.(series, isGrouped ? nameOf : undefined) ??
    (isGrouped && groupMember ? byGroup(series, groupMember, nameOf) : withoutCached(byMember(series, members)))
  const shaped = kind === 'bar' ? withRest(all) : all
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

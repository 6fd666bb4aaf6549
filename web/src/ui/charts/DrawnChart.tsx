import '@mantine/charts/styles.layer.css'
import { AreaChart, BarChart, LineChart } from '@mantine/charts'
import { Table, Text } from '@mantine/core'
import { useState } from 'react'
import { ReferenceArea, ReferenceLine } from 'recharts'
import { formatCompact, formatTime } from '../format'
import classes from './DrawnChart.module.css'
import {
  axisWidth,
  type ChartProps,
  colorOf,
  highest,
  isSparse,
  markedPoints,
  roundTicks,
  summary,
  timeTicks,
  zoomOf,
} from './series'

const defaultAt = (at: number) => formatTime(new Date(at).toISOString())
/** Of one line, and of two. Added below the chart, so that the plot keeps its height. */
const LEGEND_HEIGHTS = { one: 43, two: 70 }
const SERIES_PER_LINE = 3
/** Mantine moves the labels of the axis 10 pixels to the left, which would be out of the chart. */
const MARGIN = { top: 5, right: 5, bottom: 5, left: 10 }
/** Of many marks, the newest are listed. */
const MARKS_LISTED = 5
/** Charts with one time axis show the cursor at the same time. */
const CURSOR = { syncId: 'time', syncMethod: 'value' } as const

export default function DrawnChart(props: ChartProps) {
  const {
    title,
    kind = 'line',
    points,
    series,
    formatValue = formatCompact,
    formatAt = defaultAt,
    height = 220,
  } = props
  const zoom = useZoom(props.onZoom)
  const plot = { margin: MARGIN, ...CURSOR, ...zoom.events }
  const times = timeTicks(points, props.zone)
  const ticks = roundTicks(highest(points, series, kind), props.isWhole)
  const withLegend = series.length > 1 || props.isGrouped
  const legendHeight = series.length > SERIES_PER_LINE ? LEGEND_HEIGHTS.two : LEGEND_HEIGHTS.one
  const drawn = {
    h: height + (withLegend ? legendHeight : 0),
    data: points,
    dataKey: 'at',
    series: series.map((one, index) => ({ name: one.key, label: one.label, color: colorOf(one, index) })),
    valueFormatter: formatValue,
    withLegend,
    legendProps: { verticalAlign: 'bottom' as const, wrapperStyle: { height: legendHeight } },
    classNames: { legend: classes.legend },
    // Lets the keyboard scroll it.
    attributes: { legend: { tabIndex: 0 } },
    xAxisProps: { tickFormatter: (at: number) => times.get(at) ?? '', ticks: [...times.keys()], interval: 0 },
    yAxisProps: { width: axisWidth(ticks.map(formatValue)), interval: 0, ticks, domain: [0, ticks.at(-1) ?? 1] },
    tooltipProps: { labelFormatter: (at: unknown) => (Number.isFinite(at) ? formatAt(Number(at)) : '') },
    children: [
      ...markedPoints(points, props.marks ?? []).map((at) => (
        <ReferenceLine key={at} x={at} stroke="var(--mantine-color-dimmed)" strokeDasharray="3 3" />
      )),
      zoom.area ? <ReferenceArea key="zoom" x1={zoom.area[0]} x2={zoom.area[1]} fillOpacity={0.15} /> : null,
    ],
  }
  return (
    <figure className={classes.figure} data-zooms={props.onZoom ? true : undefined}>
      <div role="img" aria-label={`${title}. ${summary(points, series, formatValue)}`}>
        {kind === 'area' ? <AreaChart {...drawn} curveType="monotone" withDots={false} areaChartProps={plot} /> : null}
        {kind === 'line' ? (
          <LineChart
            {...drawn}
            curveType="linear"
            connectNulls={false}
            withDots={isSparse(points, series)}
            lineChartProps={plot}
          />
        ) : null}
        {kind === 'bar' ? <BarChart {...drawn} type="stacked" barChartProps={plot} /> : null}
      </div>
      {props.marks?.length ? <Marks marks={props.marks} formatAt={formatAt} /> : null}
      <details className={classes.details}>
        <summary>
          <Text span size="sm" c="dimmed">
            Show as table
          </Text>
        </summary>
        <Numbers {...props} formatValue={formatValue} formatAt={formatAt} />
      </details>
    </figure>
  )
}

/** What the dashed lines mean, newest first. */
function Marks({ marks, formatAt }: Required<Pick<ChartProps, 'marks' | 'formatAt'>>) {
  return (
    <ul className={classes.marks}>
      {[...marks]
        .sort((one, other) => other.at - one.at)
        .slice(0, MARKS_LISTED)
        .map(({ at, label }) => (
          <li key={`${at} ${label}`}>
            <Text span size="xs" c="dimmed">
              {formatAt(at)}
            </Text>{' '}
            <Text span size="sm">
              {label}
            </Text>
          </li>
        ))}
    </ul>
  )
}

/** The values as a table, for screen readers and for copying. */
function Numbers({
  title,
  points,
  series,
  formatValue,
  formatAt,
}: ChartProps & Required<Pick<ChartProps, 'formatValue' | 'formatAt'>>) {
  return (
    <section className={classes.numbers} aria-label={`${title}, as table`} tabIndex={0}>
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Time</Table.Th>
            {series.map((one) => (
              <Table.Th key={one.key}>{one.label}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {points.map((point) => (
            <Table.Tr key={point.at}>
              <Table.Th scope="row">{formatAt(point.at)}</Table.Th>
              {series.map((one) => {
                const value = point[one.key]
                return <Table.Td key={one.key}>{typeof value === 'number' ? formatValue(value) : '–'}</Table.Td>
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}

type ChartPointer = { activeLabel?: string | number }

/** Selects a time range by dragging over the chart. */
function useZoom(onZoom: ChartProps['onZoom']) {
  const [start, setStart] = useState<number>()
  const [end, setEnd] = useState<number>()
  const at = (pointer: ChartPointer) => (pointer.activeLabel === undefined ? undefined : Number(pointer.activeLabel))
  if (!onZoom) return { area: undefined, events: {} }
  const finish = () => {
    const zoomed = zoomOf(start, end)
    setStart(undefined)
    setEnd(undefined)
    if (zoomed) onZoom(...zoomed)
  }
  const events = {
    onMouseDown: (pointer: ChartPointer) => setStart(at(pointer)),
    onMouseMove: (pointer: ChartPointer) => (start === undefined ? undefined : setEnd(at(pointer))),
    onMouseUp: finish,
    onMouseLeave: () => (start === undefined ? undefined : finish()),
  }
  return { area: zoomOf(start, end), events }
}

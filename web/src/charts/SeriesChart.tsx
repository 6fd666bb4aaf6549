import { Skeleton, Text } from '@mantine/core'
import type { Series, SeriesLine } from '../api/series'
import { Chart } from '../ui/charts/Chart'
import { type ChartProps, inErrorTones } from '../ui/charts/series'
import { formatDuration } from '../ui/format'
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
  withoutRest,
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
  total?: (series: Series) => string
  empty?: string
  /** Zero means that there was nothing, as for bars. */
  isAmount?: boolean
  /** Values are counts or means of counts, so that the axis has no fractions; default: those of bars. */
  isWhole?: boolean
  /** Groups are causes of errors. */
  isErrors?: boolean
  onZoom?: ChartProps['onZoom']
  marks?: ChartProps['marks']
}

/** The part of a query that a chart needs. */
export type SeriesResult = { data: Series | undefined; error: unknown; refetch: () => unknown }
type Props = SeriesChartStyle & { series: SeriesResult; hasGroups?: boolean }

/** Panel with one series. */
export function SeriesChart({ series, ...style }: Props) {
  const { title, description } = style
  const drawn = series.data && shapedOf(style, series.data)
  // A panel without data takes little space, after those that have some.
  const isFolded =
    drawn !== undefined && isEmpty(drawn.shaped, style.kind === 'bar' || style.isAmount ? 'counts' : 'gauges')
  return (
    <Panel
      title={title}
      description={isFolded ? undefined : description}
      figure={series.data && !isFolded ? figureOf(style, series.data) : null}
      isFolded={isFolded}
    >
      <Loaded query={series} skeleton={<Skeleton h={HEIGHT} />} errorTitle={`${title} could not be loaded`}>
        {() =>
          drawn && !isFolded ? (
            <>
              <Chart
                title={title}
                kind={style.kind}
                points={drawn.shaped.points}
                series={drawn.shaped.lines}
                formatValue={style.formatValue}
                height={HEIGHT}
                isWhole={style.isWhole ?? style.kind === 'bar'}
                isGrouped={drawn.isGrouped}
                onZoom={style.onZoom}
                marks={style.marks}
              />
              {drawn.shaped.hidden ? (
                <Text size="sm" c="dimmed">
                  and {drawn.shaped.hidden} more
                </Text>
              ) : null}
            </>
          ) : (
            <p className={classes.empty}>{style.empty ?? 'No data in this time range'}</p>
          )
        }
      </Loaded>
    </Panel>
  )
}

/** The summary of the time range; of counts also what a bar counts. */
function figureOf({ kind, total }: SeriesChartStyle, series: Series): string {
  const unit = kind === 'bar' ? `per ${formatDuration(series.stepSeconds * 1_000)}` : ''
  return [total?.(series), unit].filter(Boolean).join(', ')
}

function shapedOf(
  { hasGroups = false, kind, members, groupMember, nameOf, shape, isErrors }: Omit<Props, 'series'>,
  series: Series,
): { shaped: ChartData; isGrouped: boolean } {
  const isGrouped = hasGroups && !!(groupMember || shape) && !!nameOf
  const all =
    shape?.(series, isGrouped ? nameOf : undefined) ??
    (isGrouped && groupMember ? byGroup(series, groupMember, nameOf) : withoutCached(byMember(series, members)))
  const few = kind === 'bar' ? withRest(all) : withoutRest(all)
  const shaped = isErrors ? { ...few, lines: inErrorTones(few.lines) } : few
  return { shaped, isGrouped }
}

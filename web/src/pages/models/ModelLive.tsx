import { Anchor, SegmentedControl, Skeleton, Text } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import type { Model } from '../../api/models'
import { type Metric, metricQuery } from '../../api/series'
import { isMany } from '../../charts/metrics'
import { totalOf } from '../../charts/shape'
import { windowOf } from '../../charts/time-range'
import { paths } from '../../paths'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { oneOf } from '../../ui/filters'
import { formatCount, formatShare, sentence } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loading } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'
import { useFilters } from '../../ui/useFilters'
import { type Times, timesOf } from './latency'
import { statusOf } from './status'

/** The time range, which other panels of the page share. */
export const LIVE_FILTERS = { span: oneOf(['1h', '24h']) }
type Span = (typeof LIVE_FILTERS)['span']['fallback']
const TIME_RANGES = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
]
const METRICS = ['requests', 'errors', 'ttft', 'latency'] as const satisfies Metric[]

type Props = { model: Model; workspace: { id: string; name: string } }

/** Current status of the model, and its recent latency for the workspace. */
export function ModelLive({ model, workspace }: Props) {
  const [{ span }, change] = useFilters(LIVE_FILTERS)
  return (
    <Panel
      title="Status and latency"
      description={`Measured on calls of ${workspace.name}`}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Time range"
          data={TIME_RANGES}
          value={span}
          onChange={(span) => change({ span: span as Span })}
        />
      }
    >
      <Text mb="md">{sentence(statusOf(model.status).meaning ?? model.status)}</Text>
      <Measured model={model} workspaceId={workspace.id} span={span} />
    </Panel>
  )
}

function Measured({ model, workspaceId, span }: { model: Model; workspaceId: string; span: Span }) {
  const window = windowOf({ span, from: '', to: '' })
  const queries = useQueries({
    queries: METRICS.map((metric) => metricQuery(workspaceId, { metric, model: model.id }, window)),
  })
  const failedQuery = queries.find((query) => query.error && !query.data)
  if (failedQuery) return <ErrorPanel error={failedQuery.error} onRetry={() => void failedQuery.refetch()} />
  if (queries.some((query) => query.isPending)) {
    return (
      <Loading>
        <Skeleton h={56} />
      </Loading>
    )
  }
  const [requests, errors, ttft, latency] = queries.map((query) => query.data)
  const count = totalOf(requests, 'count') ?? 0
  if (count === 0) {
    return (
      <Text c="dimmed">
        No calls to this model in the last {span === '1h' ? 'hour' : '24 hours'}, so there is no latency data.
      </Text>
    )
  }
  const failed = totalOf(errors, 'count') ?? 0
  return (
    <>
      <Stats>
        <Stat
          label="Calls"
          value={formatCount(count)}
          isBad={isMany(failed, count)}
          note={
            failed === 0 ? (
              'no errors'
            ) : (
              <Anchor
                component={Link}
                inherit
                href={paths.observability({ tab: 'requests', model: model.id, span, status: 'failed' })}
              >
                {formatShare(failed / count)} failed
              </Anchor>
            )
          }
        />
        {model.modality !== 'chat' ? null : (
          <TimeStat label="Time to first token" times={timesOf(ttft)} none="no streamed responses" />
        )}
        <TimeStat label="Latency" times={timesOf(latency)} none="no completed calls" />
      </Stats>
      <Anchor component={Link} href={paths.observability({ model: model.id, span })} size="sm" mt="sm" display="block">
        Show over time
      </Anchor>
    </>
  )
}

function TimeStat({ label, times, none }: { label: string; times: Times | undefined; none: string }) {
  if (!times) return <Stat label={label} value="–" note={none} />
  const note = (
    <>
      median
      <br />
      p95 {times.p95}
      <br />
      p99 {times.p99}
    </>
  )
  return <Stat label={label} value={times.median} note={note} />
}

import { Anchor, SegmentedControl, Skeleton, Text } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import type { Model } from '../../api/models'
import { type Metric, metricQuery } from '../../api/series'
import { totalOf } from '../../charts/shape'
import { windowOf } from '../../charts/spans'
import { paths } from '../../paths'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { oneOf } from '../../ui/filters'
import { formatCount, formatShare } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loading } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'
import { useFilters } from '../../ui/useFilters'
import { type Times, timesOf } from './latency'
import { statusOf } from './status'

const FILTERS = { span: oneOf(['1h', '24h']) }
type Span = (typeof FILTERS)['span']['fallback']
const SPANS = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
]
const METRICS = ['requests', 'errors', 'ttft', 'latency'] as const satisfies Metric[]

type Props = { model: Model; workspace: { id: string; name: string } }

/** How the model is, and how fast it answered the workspace of late. */
export function ModelLive({ model, workspace }: Props) {
  const [{ span }, change] = useFilters(FILTERS)
  return (
    <Panel
      title="Status and latency"
      description={`As calls of ${workspace.name} saw them`}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Span of time"
          data={SPANS}
          value={span}
          onChange={(span) => change({ span: span as Span })}
        />
      }
    >
      <Text mb="md">{statusOf(model.status).meaning}.</Text>
      <Measured model={model} workspaceId={workspace.id} span={span} />
    </Panel>
  )
}

function Measured({ model, workspaceId, span }: { model: Model; workspaceId: string; span: Span }) {
  const window = windowOf({ span, from: '', to: '' })
  const asked = useQueries({
    queries: METRICS.map((metric) => metricQuery(workspaceId, { metric, model: model.id }, window)),
  })
  const refused = asked.find((query) => query.error && !query.data)
  if (refused) return <ErrorPanel error={refused.error} onRetry={() => void refused.refetch()} />
  if (asked.some((query) => query.isPending)) {
    return (
      <Loading>
        <Skeleton h={56} />
      </Loading>
    )
  }
  const [requests, errors, ttft, latency] = asked.map((query) => query.data)
  const count = totalOf(requests, 'count') ?? 0
  if (count === 0) {
    return (
      <Text c="dimmed">
        Nobody has called this model in the last {span === '1h' ? 'hour' : '24 hours'}, so there is no latency to tell.
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
          note={failed === 0 ? 'none with an error' : `${formatShare(failed / count)} with an error`}
        />
        {model.modality === 'embedding' ? null : (
          <TimeStat label="Time to first token" times={timesOf(ttft)} none="no answer was streamed" />
        )}
        <TimeStat label="Latency" times={timesOf(latency)} none="no call was answered" />
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

import { Text } from '@mantine/core'
import type { SeriesLine, Window } from '../../api/series'
import type { SurfaceName } from '../../api/surfaces'
import { MetricChart } from '../../charts/MetricChart'
import { CHARTS, UTILIZATIONS } from '../../charts/metrics'
import { Panel } from '../../ui/Panel'
import { ByApi } from './ByApi'
import { Headlines } from './Headlines'
import classes from './Observability.module.css'
import { appliesToEndpoints, type CallFilter } from './targets'
import { WaitingCalls } from './WaitingCalls'

type Grouping = '' | 'model' | 'key' | 'endpoint'
type Props = {
  workspaceId: string
  window: Window
  only: CallFilter
  by: Grouping
  nameOf: (line: SeriesLine) => string
  onZoom: (from: number, to: number) => void
  /** Opens the requests of an API. */
  onSurface: (surface: SurfaceName) => void
}

/** All charts of a workspace. Zooming one zooms all of them. */
export function Dashboard({ workspaceId, window, only, by, nameOf, onZoom, onSurface }: Props) {
  const groupBy = by || undefined
  const common = { workspaceId, window, onZoom, nameOf }
  const filter = { ...only, groupBy }
  /** A grouped chart has one line per group, of one member, and no total of all members. */
  const grouped = (title: string, member: string) => (by ? { title: `${title} (${member})`, total: undefined } : {})
  const ofEndpoints = { endpoint: only.endpoint, groupBy: by === 'endpoint' ? by : undefined }
  return (
    <div className={classes.stack}>
      <Headlines workspaceId={workspaceId} window={window} only={only} />
      <div className={classes.charts}>
        <MetricChart {...common} {...CHARTS.requests} query={filter} />
        <MetricChart {...common} {...CHARTS.errors} query={{ ...only, groupBy: 'code' }} />
        <MetricChart {...common} {...CHARTS.tokens} {...grouped('Tokens', 'completion')} query={filter} />
        <MetricChart {...common} {...CHARTS.rateLimitHits} query={filter} />
        <MetricChart {...common} {...CHARTS.hitRate} {...(by ? { total: undefined } : {})} query={filter} />
        <ByApi workspaceId={workspaceId} window={window} only={only} onOpen={onSurface} />
      </div>
      <div className={classes.pairs}>
        <MetricChart {...common} {...CHARTS.ttft} {...grouped('Time to first token', 'p95')} query={filter} />
        <MetricChart {...common} {...CHARTS.latency} {...grouped('Latency', 'p95')} query={filter} />
      </div>
      <WaitingCalls workspaceId={workspaceId} />
      {appliesToEndpoints(only) ? (
        <div className={classes.pairs}>
          <MetricChart {...common} {...CHARTS.gpuBusy} query={ofEndpoints} />
          <MetricChart
            {...common}
            {...CHARTS.kvCache}
            {...(by === 'endpoint' ? { total: undefined } : {})}
            query={ofEndpoints}
          />
          <MetricChart
            {...common}
            {...CHARTS.prefillQueue}
            query={{ endpoint: only.endpoint, groupBy: only.endpoint ? 'replica' : 'endpoint' }}
          />
        </div>
      ) : (
        <Panel
          title={`${UTILIZATIONS.gpuBusy.name}, ${UTILIZATIONS.kvCache.name} and ${CHARTS.prefillQueue.title.toLowerCase()}`}
        >
          <Text c="dimmed">
            They are measured at dedicated endpoints, not per key, model or API. Remove these filters to see them.
          </Text>
        </Panel>
      )}
    </div>
  )
}

import { Anchor } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { polledCatalogueQuery } from '../../../api/operator/catalogue'
import { installationMetricQuery } from '../../../api/operator/installation'
import { gpusQuery, nodesQuery, platformErrorsQuery } from '../../../api/operator/nodes'
import { totalOf } from '../../../charts/shape'
import { windowOf } from '../../../charts/time-range'
import { paths } from '../../../paths'
import { Link } from '../../../ui/Link'
import { Loading } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { PanelSkeleton } from '../../../ui/Skeletons'
import { Stat, Stats } from '../../../ui/Stat'
import { summarize } from './summarize'

/** Failed calls are those of the last day, whatever range the charts have. */
const DAY = windowOf({ span: '24h', from: '', to: '' })

/** The installation in a few numbers, each with the page that explains it. */
export function Summary() {
  const [nodes, catalogue, gpus, errors, requests] = useQueries({
    queries: [
      nodesQuery,
      polledCatalogueQuery,
      gpusQuery,
      platformErrorsQuery,
      installationMetricQuery('requests', DAY),
    ],
  })
  const isPending = [nodes, catalogue, gpus, errors, requests].some((query) => query.isPending)
  const { ready, available, used, calls, failed, isManyFailed } = summarize({
    nodes: nodes.data,
    models: catalogue.data?.models,
    gpus: gpus.data,
    errors: errors.data,
    requests: totalOf(requests.data, 'count'),
  })
  const to = (href: string, text: string) => (
    <Anchor component={Link} href={href} inherit>
      {text}
    </Anchor>
  )
  return (
    <Panel title="At a glance">
      {isPending ? (
        <Loading>
          <PanelSkeleton height={56} />
        </Loading>
      ) : (
        <Stats>
          <Stat label="Nodes" value={to(paths.operatorHealth(), ready)} note="ready" />
          <Stat label="Models" value={to(paths.operatorModels(), available)} note="available" />
          <Stat label="GPUs and slots" value={to(paths.operatorHealth(), used)} note="in use" />
          <Stat label="Calls now" value={calls} note="on all nodes" />
          <Stat
            label="Failed calls"
            value={to(paths.operatorHealth('errors'), failed)}
            note="in the last 24 hours"
            isBad={isManyFailed}
          />
        </Stats>
      )}
    </Panel>
  )
}

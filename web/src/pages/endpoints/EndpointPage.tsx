import { Anchor, Breadcrumbs, Code, Group, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type Endpoint, endpointQuery } from '../../api/endpoints'
import { useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { CopyButton } from '../../ui/CopyButton'
import { oneOf } from '../../ui/filters'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { PanelSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { EndpointActions } from './actions/EndpointActions'
import { EndpointCharts } from './detail/EndpointCharts'
import { EndpointOverview } from './detail/EndpointOverview'
import { EventTimeline } from './detail/EventTimeline'
import { Replicas } from './detail/Replicas'
import { EndpointStateBadge } from './EndpointStateBadge'

const FILTERS = { tab: oneOf(['overview', 'metrics', 'events', 'replicas']) }
type Tab = (typeof FILTERS)['tab']['fallback']

export function EndpointPage() {
  const { name = '' } = useParams({ strict: false })
  const workspace = useWorkspace()
  const endpoint = useQuery(endpointQuery(workspace.id, name))
  const [{ tab }, change] = useFilters(FILTERS)
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.endpoints()}>
          Endpoints
        </Anchor>
        <span>{name}</span>
      </Breadcrumbs>
      <PageHeader
        title={name}
        description={endpoint.data ? <Identity endpoint={endpoint.data} /> : null}
        actions={endpoint.data ? <EndpointActions endpoint={endpoint.data} /> : null}
      />
      <Loaded
        query={endpoint}
        skeleton={<PanelSkeleton height={320} />}
        errorTitle="This endpoint cannot be shown"
        list={{ href: paths.endpoints(), label: 'Show all endpoints' }}
      >
        {(endpoint) => (
          <Tabs value={tab} onChange={(tab) => change({ tab: (tab ?? 'overview') as Tab })} keepMounted={false}>
            <Tabs.List mb="md">
              <Tabs.Tab value="overview">Overview</Tabs.Tab>
              <Tabs.Tab value="metrics">Metrics</Tabs.Tab>
              <Tabs.Tab value="events">Events</Tabs.Tab>
              <Tabs.Tab value="replicas">Replicas</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="overview">
              <EndpointOverview endpoint={endpoint} />
            </Tabs.Panel>
            <Tabs.Panel value="metrics">
              <EndpointCharts endpoint={endpoint} />
            </Tabs.Panel>
            <Tabs.Panel value="events">
              <EventTimeline endpoint={endpoint} />
            </Tabs.Panel>
            <Tabs.Panel value="replicas">
              <Replicas endpoint={endpoint} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </>
  )
}

function Identity({ endpoint }: { endpoint: Endpoint }) {
  return (
    <Group gap="xs" mt={4}>
      <Group gap={4} wrap="nowrap">
        <Code fz="sm">{endpoint.modelId}</Code>
        <CopyButton value={endpoint.modelId} label="Copy Model ID" />
      </Group>
      <EndpointStateBadge endpoint={endpoint} />
    </Group>
  )
}

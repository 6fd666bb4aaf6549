import { Anchor, Stack, Text } from '@mantine/core'
import type { Endpoint } from '../../api/endpoints'
import { paths } from '../../paths'
import { type Column, DataTable, type PagedRows } from '../../ui/DataTable'
import { Link } from '../../ui/Link'
import { Time } from '../../ui/Time'
import { EndpointStateBadge } from './EndpointStateBadge'
import { describeReplicas } from './scaling/scaling'

const NOWRAP = { whiteSpace: 'nowrap' } as const

const COLUMNS: Column<Endpoint>[] = [
  {
    id: 'name',
    header: 'Endpoint',
    sortBy: 'server',
    cell: (endpoint) => (
      <Stack gap={0}>
        <Anchor component={Link} href={paths.endpoint(endpoint.name)} fw={550}>
          {endpoint.name}
        </Anchor>
        <Text component="code" size="sm" c="dimmed" ff="monospace" fw={400} style={NOWRAP}>
          {endpoint.modelId}
        </Text>
      </Stack>
    ),
  },
  {
    id: 'state',
    header: 'State',
    sortBy: 'server',
    cell: (endpoint) => <EndpointStateBadge endpoint={endpoint} />,
  },
  { id: 'model', header: 'Model', sortBy: 'server', cell: (endpoint) => endpoint.model },
  {
    id: 'replicas',
    header: 'Replicas',
    cell: (endpoint) => (
      <Stack gap={0}>
        <span>{replicasNow(endpoint)}</span>
        <Text size="sm" c="dimmed" style={NOWRAP}>
          {describeReplicas(endpoint)}
        </Text>
      </Stack>
    ),
  },
  {
    id: 'hardware',
    header: 'Hardware',
    cell: ({ hardware, flavor }) => (
      <Stack gap={0}>
        <Text span size="sm" style={NOWRAP}>
          {hardware.gpuCount} × {hardware.gpuType}
        </Text>
        <Text size="sm" c="dimmed">
          {flavor}
        </Text>
      </Stack>
    ),
  },
  {
    id: 'committedGpus',
    header: 'Committed GPUs',
    align: 'right',
    sortBy: 'server',
    cell: (endpoint) => endpoint.committedGpus,
  },
  {
    id: 'lastRequestAt',
    header: 'Last call',
    sortBy: 'server',
    cell: (endpoint) => (
      <span style={NOWRAP}>
        <Time value={endpoint.lastRequestAt} />
      </span>
    ),
  },
]

/** `1 ready`, `1 ready of 2, 1 starting`. */
function replicasNow({ status }: Endpoint): string {
  const { desired, pending, starting, ready, draining } = status
  const parts = [ready === desired ? `${ready} ready` : `${ready} ready of ${desired}`]
  if (starting) parts.push(`${starting} starting`)
  if (pending) parts.push(`${pending} pending`)
  if (draining) parts.push(`${draining} draining`)
  return parts.join(', ')
}

type Props = { endpoints: PagedRows<Endpoint>; sort: string; onSort: (sort: string) => void }

export function EndpointTable({ endpoints, sort, onSort }: Props) {
  return (
    <DataTable
      caption="Endpoints of this workspace"
      columns={COLUMNS}
      rows={endpoints}
      rowKey={(endpoint) => endpoint.id}
      sort={sort}
      onSort={onSort}
      minWidth={1040}
    />
  )
}

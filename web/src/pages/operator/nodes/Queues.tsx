import { Anchor, Code, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { classLabel } from '../../../api/call-classes'
import { type Queue, queuesQuery } from '../../../api/operator/nodes'
import { paths } from '../../../paths'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatCount } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { Time } from '../../../ui/Time'
import { summaryOf } from './queues'

/** The calls that wait for room, by model, class and workspace. */
export function Queues() {
  const queues = useQuery(queuesQuery)
  return (
    <Panel
      id="queues"
      title="Queues"
      description="Calls that wait for room, at all nodes. Interactive calls come first, then workspaces take turns by tokens"
      figure={queues.data && summaryOf(queues.data)}
    >
      <Loaded query={queues} skeleton={<TableSkeleton rows={2} />} errorTitle="The queues could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No calls wait.</Text>
          ) : (
            <DataTable
              caption="Waiting calls"
              columns={COLUMNS}
              rows={all}
              rowKey={(queue) => `${queue.model} ${queue.class} ${queue.workspaceId}`}
              find={{ label: 'Search queues', text: textOf }}
              minWidth={640}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

const textOf = ({ model, class: name, workspaceId, workspaceName, organizationName }: Queue) =>
  [model, name, workspaceId, workspaceName, organizationName].join(' ')

/** The workspace and its organization; only the id if it was deleted. */
function Owner({ queue: { workspaceId, workspaceName, organizationId, organizationName } }: { queue: Queue }) {
  if (!workspaceName || !organizationId) return <Code>{workspaceId}</Code>
  return (
    <Stack gap={0}>
      <span>{workspaceName}</span>
      <Anchor component={Link} href={paths.operatorOrganization(organizationId)} size="xs">
        {organizationName}
      </Anchor>
    </Stack>
  )
}

const COLUMNS: Column<Queue>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => <span style={{ overflowWrap: 'anywhere' }}>{model}</span> },
  { id: 'class', header: 'Class', cell: (queue) => classLabel(queue.class) },
  {
    id: 'workspace',
    header: 'Workspace',
    cell: (queue) => <Owner queue={queue} />,
  },
  {
    id: 'weight',
    header: 'Weight',
    align: 'right',
    sortBy: (one) => one.weight,
    cell: (one) => formatCount(one.weight),
  },
  { id: 'calls', header: 'Calls', align: 'right', sortBy: (one) => one.calls, cell: (one) => formatCount(one.calls) },
  {
    id: 'tokens',
    header: 'Tokens',
    align: 'right',
    sortBy: (one) => one.tokens,
    cell: (one) => formatCount(one.tokens),
  },
  { id: 'since', header: 'Oldest', cell: (one) => <Time value={one.waitingSince} fallback="unknown" /> },
  { id: 'nodes', header: 'Nodes', align: 'right', cell: (one) => formatCount(one.nodes) },
]

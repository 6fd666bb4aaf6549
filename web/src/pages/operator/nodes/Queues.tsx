import { Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Queue, queuesQuery } from '../../../api/operator/nodes'
import { useSessionContext } from '../../../api/session'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatCount } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { classLabel, summaryOf } from './queues'

/** The calls that wait for room, by model, class and workspace. */
export function Queues() {
  const queues = useQuery(queuesQuery)
  const { session } = useSessionContext()
  const nameOf = (id: string) => session.workspaces.find((one) => one.id === id)?.name
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
              columns={columnsOf(nameOf)}
              rows={all}
              rowKey={(queue) => `${queue.model} ${queue.class} ${queue.workspaceId}`}
              find={{ label: 'Search queues', text: (queue) => `${queue.model} ${queue.class} ${queue.workspaceId}` }}
              minWidth={640}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

const columnsOf = (nameOf: (id: string) => string | undefined): Column<Queue>[] => [
  { id: 'model', header: 'Model', cell: ({ model }) => <span style={{ overflowWrap: 'anywhere' }}>{model}</span> },
  { id: 'class', header: 'Class', cell: (queue) => classLabel(queue.class) },
  {
    id: 'workspace',
    header: 'Workspace',
    cell: ({ workspaceId }) => nameOf(workspaceId) ?? <Code>{workspaceId}</Code>,
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
  { id: 'nodes', header: 'Nodes', align: 'right', cell: (one) => formatCount(one.nodes) },
]

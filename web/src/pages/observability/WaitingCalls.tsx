import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { classLabel } from '../../api/call-classes'
import { type WorkspaceQueue, workspaceQueuesQuery } from '../../api/queues'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCompact, formatCount } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'
import { Time } from '../../ui/Time'

/** The calls of the workspace that wait for room now, by model and class. */
export function WaitingCalls({ workspaceId }: { workspaceId: string }) {
  const queues = useQuery(workspaceQueuesQuery(workspaceId))
  return (
    <Panel
      title="Waiting calls"
      description="Calls of the workspace that wait for room at a model now, without filters"
    >
      <Loaded query={queues} skeleton={<TableSkeleton rows={1} />} errorTitle="The queues could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No calls wait.</Text>
          ) : (
            <DataTable
              caption="Waiting calls"
              columns={COLUMNS}
              rows={all}
              rowKey={(queue) => `${queue.model} ${queue.class}`}
              minWidth={480}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

const COLUMNS: Column<WorkspaceQueue>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => <span style={{ overflowWrap: 'anywhere' }}>{model}</span> },
  { id: 'class', header: 'Class', cell: (queue) => classLabel(queue.class) },
  { id: 'calls', header: 'Calls', align: 'right', cell: ({ calls }) => formatCount(calls) },
  { id: 'tokens', header: 'Tokens', align: 'right', cell: ({ tokens }) => formatCompact(tokens) },
  { id: 'since', header: 'Oldest', cell: ({ waitingSince }) => <Time value={waitingSince} fallback="unknown" /> },
]

import { Button, Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Endpoint, type Replica, replicasQuery } from '../../../api/endpoints'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { text } from '../../../ui/filters'
import { sentence } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StateBadge } from '../../../ui/StateBadge'
import { Time } from '../../../ui/Time'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Endpoints.module.css'
import { endpointStateDisplay, replicaStateDisplay } from '../states'

const FILTERS = { replica: text() }

/** Replicas, including ended ones, and the log tail of the selected one. */
export function Replicas({ endpoint }: { endpoint: Endpoint }) {
  const replicas = useQuery(replicasQuery(endpoint.workspaceId, endpoint.name))
  const [{ replica }, change] = useFilters(FILTERS)
  return (
    <Loaded query={replicas} skeleton={<TableSkeleton rows={3} />} errorTitle="The replicas could not be loaded">
      {(all) => {
        if (all.length === 0) {
          return (
            <EmptyState title="No replica has run yet">
              {sentence(endpointStateDisplay(endpoint.state).meaning ?? endpoint.state)} Replicas and their logs appear
              here once one has started.
            </EmptyState>
          )
        }
        const shown = all.find((one) => one.id === replica) ?? all.find((one) => one.state === 'ready') ?? all[0]
        return (
          <div className={classes.stack}>
            <DataTable
              caption="Replicas"
              columns={columns((id) => change({ replica: id }), shown?.id)}
              rows={all}
              rowKey={(one) => one.id}
              minWidth={720}
            />
            {shown ? <Log replica={shown} all={all} onSelect={(id) => change({ replica: id })} /> : null}
          </div>
        )
      }}
    </Loaded>
  )
}

const columns = (onSelect: (id: string) => void, shown: string | undefined): Column<Replica>[] => [
  {
    id: 'id',
    header: 'Replica',
    cell: (one) => (
      <Text component="code" size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
        {one.id}
      </Text>
    ),
  },
  {
    id: 'state',
    header: 'State',
    cell: (one) => <StateBadge state={replicaStateDisplay(one.state)} />,
  },
  { id: 'node', header: 'Node', cell: (one) => one.node ?? '–' },
  { id: 'gpus', header: 'GPUs', cell: (one) => one.gpuIds.join(', ') || '–' },
  { id: 'started', header: 'Started', cell: (one) => <Time value={one.startedAt} fallback="not yet" /> },
  { id: 'error', header: 'Last error', cell: (one) => one.lastError ?? '–' },
  {
    id: 'log',
    header: 'Log',
    isActions: true,
    cell: (one) => (
      <Button
        size="compact-sm"
        variant={one.id === shown ? 'light' : 'default'}
        aria-label={`Log of ${one.id}`}
        aria-pressed={one.id === shown}
        onClick={() => onSelect(one.id)}
      >
        Log
      </Button>
    ),
  },
]

type LogProps = { replica: Replica; all: Replica[]; onSelect: (id: string) => void }

function Log({ replica, all, onSelect }: LogProps) {
  return (
    <Panel
      title="Log"
      description="Last 4 KiB of the engine's output"
      actions={
        <Select
          aria-label="Replica"
          allowDeselect={false}
          data={all.map((one) => ({ value: one.id, label: `${replicaStateDisplay(one.state).label}: ${one.id}` }))}
          value={replica.id}
          onChange={(id) => id && onSelect(id)}
          w={360}
          maw="100%"
        />
      }
    >
      {replica.logTail ? (
        <pre className={classes.log} tabIndex={0} aria-label={`Log of ${replica.id}`} role="log">
          {replica.logTail}
        </pre>
      ) : (
        <Text c="dimmed">The replica has not written any output yet.</Text>
      )}
    </Panel>
  )
}

import { Anchor, Stack, Text } from '@mantine/core'
import { IconListDetails } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { BATCH_POLL_MS, type Batch, batchTableQuery } from '../../api/batches'
import { useTable } from '../../api/pages'
import { polled } from '../../api/polling'
import { paths } from '../../paths'
import { type Column, DataTable } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { formatMoney } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { pairTexts } from '../../ui/pairs'
import { TableSkeleton } from '../../ui/Skeletons'
import { StateBadge } from '../../ui/StateBadge'
import { Time } from '../../ui/Time'
import { BatchProgress } from './BatchProgress'
import { isoOf, stateOf } from './progress'

const COLUMNS: Column<Batch>[] = [
  {
    id: 'id',
    header: 'Batch',
    cell: (batch) => (
      <Stack gap={0}>
        <Anchor component={Link} href={paths.batch(batch.id)} ff="monospace" size="sm">
          {batch.id}
        </Anchor>
        <Text span size="xs" c="dimmed" fw={400}>
          {pairTexts(batch.metadata).join(', ')}
        </Text>
      </Stack>
    ),
  },
  {
    id: 'status',
    header: 'State',
    cell: ({ status }) => <StateBadge state={stateOf(status)} />,
  },
  {
    id: 'model',
    header: 'Model',
    cell: ({ model, endpoint }) => (
      <Stack gap={0}>
        <span style={{ overflowWrap: 'anywhere' }}>{model ?? '–'}</span>
        <Text span size="xs" c="dimmed">
          {endpoint}
        </Text>
      </Stack>
    ),
  },
  { id: 'progress', header: 'Progress', cell: (batch) => <BatchProgress batch={batch} /> },
  {
    id: 'cost',
    header: 'Cost so far',
    align: 'right',
    cell: (batch) => formatMoney(batch.cost_usd),
  },
  { id: 'created', header: 'Created', cell: (batch) => <Time value={isoOf(batch.created_at)} /> },
]

/** Batches, newest first. */
export function BatchTable({ workspaceId, newBatch }: { workspaceId: string; newBatch: ReactNode }) {
  const batches = useTable(batchTableQuery(workspaceId), polled(BATCH_POLL_MS))
  return (
    <Loaded query={batches} skeleton={<TableSkeleton />} errorTitle="The batches could not be loaded">
      {(table) =>
        table.rows.length === 0 ? (
          <EmptyState title="No batches yet" icon={<IconListDetails size={32} />} actions={newBatch}>
            A batch is a file of calls that run when there is room, and cost less where the operator says so.
          </EmptyState>
        ) : (
          <DataTable caption="Batches" columns={COLUMNS} rows={table} rowKey={({ id }) => id} minWidth={860} />
        )
      }
    </Loaded>
  )
}

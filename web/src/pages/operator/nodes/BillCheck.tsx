import { Code, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type BilledReplica, billCheckQuery } from '../../../api/operator/nodes'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatCount } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import { byDifference, formatDifference, totalOf } from './bill-check'

const COLUMNS: Column<BilledReplica>[] = [
  {
    id: 'model',
    header: 'Model',
    cell: ({ model, replica }) => (
      <Stack gap={0}>
        {model}
        <Text component="code" size="sm" c="dimmed" ff="monospace">
          {replica}
        </Text>
      </Stack>
    ),
  },
  {
    id: 'node',
    header: 'Node',
    cell: ({ nodes }) => (nodes.length === 0 ? 'Shared server' : nodes.map((node) => <Code key={node}>{node}</Code>)),
  },
  { id: 'billed', header: 'Billed', align: 'right', cell: ({ billed }) => formatCount(totalOf(billed)) },
  { id: 'counted', header: 'Counted', align: 'right', cell: ({ counted }) => formatCount(totalOf(counted)) },
  {
    id: 'difference',
    header: 'Difference',
    align: 'right',
    cell: ({ difference, overbilled }) => (
      <>
        {formatDifference(totalOf(difference))}
        {overbilled ? <StatusBadge tone="bad">Billed too much</StatusBadge> : null}
      </>
    ),
  },
  {
    id: 'unread',
    header: 'Not compared',
    align: 'right',
    cell: ({ unread }) => formatCount(totalOf(unread)),
  },
]

/** Tokens on bills against those that the engines counted themselves, in the last day. */
export function BillCheck() {
  const check = useQuery(billCheckQuery)
  return (
    <Panel
      id="bills"
      title="Bills against engine counters"
      description="Tokens of the last 24 hours, prompt and completion together"
    >
      <Loaded query={check} skeleton={<TableSkeleton rows={2} />} errorTitle="The bills could not be compared">
        {({ replicas }) =>
          replicas.length === 0 ? (
            <Text c="dimmed">No engine has counted tokens.</Text>
          ) : (
            <Stack gap="sm">
              <DataTable
                caption="Billed and counted tokens"
                columns={COLUMNS}
                rows={byDifference(replicas)}
                rowKey={({ replica, model }) => `${model} ${replica}`}
                minWidth={720}
              />
              <Text size="sm" c="dimmed">
                The difference is what was billed beyond what the engine counted. Calls that span an hour or still run
                cause small ones. A negative difference is work that was not billed: test calls, calls that clients of
                the engine make past Forebay, and calls that failed. Tokens are not compared for hours in which the
                engine was not read, because it was down or has no counters.
              </Text>
            </Stack>
          )
        }
      </Loaded>
    </Panel>
  )
}

import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallers } from '../../api/callers'
import { usageQuery } from '../../api/costs'
import { DataTable } from '../../ui/DataTable'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'
import { AMOUNT_COLUMNS, mostExpensiveFirst } from './ByModel'

type Props = { workspaceId: string; organizationId: string; span: { from: string; to: string } }

/** Costs by caller: API keys, and members in the Playground. */
export function ByKey({ workspaceId, organizationId, span }: Props) {
  const usage = useQuery(usageQuery(workspaceId, span, 'key'))
  const { nameOf } = useCallers(workspaceId, organizationId)
  const columns = [
    {
      id: 'key',
      header: 'Caller',
      cell: (line: { key?: string | null; user?: string | null }) => (
        <Stack gap={0}>
          <span>{nameOf(line.key ?? line.user)}</span>
          <Text size="sm" c="dimmed" fw={400}>
            {line.key ? 'API key' : 'Playground'}
          </Text>
        </Stack>
      ),
    },
    ...AMOUNT_COLUMNS,
  ]
  return (
    <Panel title="By key" description="API keys, and members who used the Playground">
      <Loaded query={usage} skeleton={<TableSkeleton rows={3} />} errorTitle="The usage could not be loaded">
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">No keys were used in this month.</Text>
          ) : (
            <DataTable
              caption="Cost by key"
              columns={columns}
              rows={mostExpensiveFirst(data)}
              rowKey={(line) => line.key ?? line.user ?? ''}
              minWidth={480}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

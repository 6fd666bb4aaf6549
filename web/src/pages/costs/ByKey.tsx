import { Anchor, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type CallerNameOf, useCallers } from '../../api/callers'
import { type UsageLine, usageQuery } from '../../api/costs'
import { paths } from '../../paths'
import type { Column } from '../../ui/DataTable'
import { Link } from '../../ui/Link'
import { Panel } from '../../ui/Panel'
import { UsageTable } from './UsageTable'

type Props = { workspaceId: string; organizationId: string; span: { from: string; to: string } }

/** Costs by caller: API keys, and members in the Playground. */
export function ByKey({ workspaceId, organizationId, span }: Props) {
  const usage = useQuery(usageQuery(workspaceId, span, 'key'))
  const { nameOf } = useCallers(workspaceId, organizationId)
  return (
    <Panel title="By key" description="API keys, and members who used the Playground">
      <UsageTable
        usage={usage}
        caption="Cost by key"
        group={callerColumn(nameOf)}
        rowKey={(line) => line.key ?? line.user ?? ''}
        empty="No keys were used in this month."
      />
    </Panel>
  )
}

const callerColumn = (nameOf: CallerNameOf): Column<UsageLine> => ({
  id: 'key',
  header: 'Caller',
  cell: ({ key, user }) => (
    <Stack gap={0}>
      {key ? (
        <Anchor component={Link} href={paths.key(key)}>
          {nameOf(key)}
        </Anchor>
      ) : (
        <span>{nameOf(user)}</span>
      )}
      <Text size="sm" c="dimmed" fw={400}>
        {key ? 'API key' : 'Playground'}
      </Text>
    </Stack>
  ),
})

import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type UsageLine, usageQuery } from '../../api/costs'
import { paths } from '../../paths'
import type { Column } from '../../ui/DataTable'
import { endUserName } from '../../ui/end-users'
import { Link } from '../../ui/Link'
import { Panel } from '../../ui/Panel'
import { UsageTable } from './UsageTable'

type Props = { workspaceId: string; span: { from: string; to: string } }

/** The people behind the keys, as links to their calls. */
export const END_USER_COLUMN: Column<UsageLine> = {
  id: 'endUser',
  header: 'End user',
  cell: ({ endUser, endUserName: name }) =>
    endUser ? (
      <Anchor component={Link} href={paths.observability({ tab: 'requests', span: '30d', endUser })}>
        {endUserName(endUser, name)}
      </Anchor>
    ) : (
      <Text c="dimmed">Without an end user</Text>
    ),
}

export const FIND_END_USER = {
  label: 'Search end users',
  text: ({ endUser, endUserName: name }: UsageLine) => `${name ?? ''} ${endUser ?? ''}`,
}

/** Costs by the people whom calls named; nothing if none did. */
export function ByEndUser({ workspaceId, span }: Props) {
  const usage = useQuery(usageQuery(workspaceId, span, 'endUser'))
  if (!usage.data?.data.some(({ endUser }) => endUser)) return null
  return (
    <Panel title="By end user" description="The people behind keys that name them">
      <UsageTable
        usage={usage}
        caption="Cost by end user"
        group={END_USER_COLUMN}
        rowKey={(line) => line.endUser ?? ''}
        find={FIND_END_USER}
        empty="No calls in this month."
      />
    </Panel>
  )
}

import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type UsageLine, usageQuery } from '../../api/costs'
import { paths } from '../../paths'
import { type Column, DataTable } from '../../ui/DataTable'
import { endUserName } from '../../ui/end-users'
import { Link } from '../../ui/Link'
import { Panel } from '../../ui/Panel'
import { AMOUNT_COLUMNS, mostExpensiveFirst } from './ByModel'

type Props = { workspaceId: string; span: { from: string; to: string } }

/** The people behind the keys, as links to their calls. */
export const END_USER_COLUMNS: Column<UsageLine>[] = [
  {
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
  },
  ...AMOUNT_COLUMNS,
]

/** Costs by the people whom calls named; nothing if none did. */
export function ByEndUser({ workspaceId, span }: Props) {
  const usage = useQuery(usageQuery(workspaceId, span, 'endUser'))
  const lines = usage.data?.data ?? []
  if (!lines.some(({ endUser }) => endUser)) return null
  return (
    <Panel title="By end user" description="The people behind keys that name them">
      <DataTable
        caption="Cost by end user"
        columns={END_USER_COLUMNS}
        rows={mostExpensiveFirst(lines)}
        rowKey={(line) => line.endUser ?? ''}
        minWidth={480}
        find={{ label: 'Search end users', text: ({ endUser, endUserName: name }) => `${name ?? ''} ${endUser ?? ''}` }}
      />
    </Panel>
  )
}

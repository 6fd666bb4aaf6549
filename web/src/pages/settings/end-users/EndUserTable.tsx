import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { IconUsers } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { deleteEndUser, type EndUser, endUsersOf, endUserTableQuery } from '../../../api/end-users'
import { useTable } from '../../../api/pages'
import { paths } from '../../../paths'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { endUserName } from '../../../ui/end-users'
import { text } from '../../../ui/filters'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { SearchField } from '../../../ui/SearchField'
import { TableSkeleton } from '../../../ui/Skeletons'
import { Time } from '../../../ui/Time'
import { Toolbar } from '../../../ui/Toolbar'
import { useFilters } from '../../../ui/useFilters'
import { EditEndUser } from './EditEndUser'
import { limitsText } from './end-user-values'

const FILTERS = { q: text() }
type Props = { workspaceId: string; isAdmin: boolean }

/** The end users that calls have named. */
export function EndUserTable({ workspaceId, isAdmin }: Props) {
  const [{ q }, change] = useFilters(FILTERS)
  const endUsers = useTable(endUserTableQuery(workspaceId, q))
  const search = useCallback((typed: string) => change({ q: typed }), [change])
  const [edited, edit] = useState<EndUser>()
  const [deleted, setDeleted] = useState<EndUser>()
  return (
    <div>
      <Toolbar>
        <SearchField label="Search end users" placeholder="Name or eu_…" value={q} onChange={search} />
      </Toolbar>
      <Loaded query={endUsers} skeleton={<TableSkeleton />} errorTitle="The end users could not be loaded">
        {(table) =>
          table.rows.length === 0 ? (
            <EmptyState title={q ? 'No end user matches' : 'No end users yet'} icon={<IconUsers size={32} />}>
              Calls name them if their key trusts the program to do so: see the settings of a key, under Advanced.
            </EmptyState>
          ) : (
            <DataTable
              caption="End users"
              columns={isAdmin ? [...COLUMNS, actions(edit, setDeleted)] : COLUMNS}
              rows={table}
              rowKey={({ id }) => id}
              minWidth={640}
            />
          )
        }
      </Loaded>
      <EditEndUser endUser={edited} workspaceId={workspaceId} onClose={() => edit(undefined)} />
      <DeleteEndUser endUser={deleted} workspaceId={workspaceId} onClose={() => setDeleted(undefined)} />
    </div>
  )
}

const nameOf = ({ id, name }: EndUser) => endUserName(id, name)

const COLUMNS: Column<EndUser>[] = [
  {
    id: 'name',
    header: 'End user',
    cell: (one) => (
      <Stack gap={0}>
        <Anchor component={Link} href={paths.observability({ tab: 'requests', endUser: one.id })}>
          {nameOf(one)}
        </Anchor>
        {one.name ? (
          <Text span size="xs" c="dimmed" ff="monospace" fw={400}>
            {endUserName(one.id, null)}
          </Text>
        ) : null}
      </Stack>
    ),
  },
  { id: 'limits', header: 'Limits', cell: (one) => limitsText(one) ?? 'Default' },
  { id: 'first', header: 'First seen', cell: (one) => <Time value={one.firstSeenAt} /> },
  { id: 'last', header: 'Last seen', cell: (one) => <Time value={one.lastSeenAt} /> },
]

const actions = (onEdit: (one: EndUser) => void, onDelete: (one: EndUser) => void): Column<EndUser> => ({
  id: 'actions',
  header: 'Actions',
  isActions: true,
  cell: (one) => (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`Change limits of ${nameOf(one)}`}
        onClick={() => onEdit(one)}
      >
        Change limits
      </Button>
      <Button size="compact-sm" variant="default" aria-label={`Delete ${nameOf(one)}`} onClick={() => onDelete(one)}>
        Delete
      </Button>
    </Group>
  ),
})

type DeleteProps = { endUser: EndUser | undefined; workspaceId: string; onClose: () => void }

function DeleteEndUser({ endUser, workspaceId, onClose }: DeleteProps) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: (id: string) => deleteEndUser(workspaceId, id),
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries(endUsersOf(workspaceId)),
  })
  return (
    <ConfirmDialog
      opened={!!endUser}
      onClose={() => {
        remove.reset()
        onClose()
      }}
      title="Delete end user"
      action="Delete end user"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => endUser && remove.mutate(endUser.id)}
    >
      {endUser ? nameOf(endUser) : ''} is forgotten: the name, the limits, and whose calls they were. The usage and the
      bills of the workspace stay. The next call that names this end user makes a new entry.
    </ConfirmDialog>
  )
}

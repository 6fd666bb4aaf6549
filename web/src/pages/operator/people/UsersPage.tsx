import { Button, Group } from '@mantine/core'
import { IconUserPlus, IconUserSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { organizationNamesQuery } from '../../../api/operator/organizations'
import { type User, userTableQuery } from '../../../api/operator/users'
import { useTable } from '../../../api/pages'
import { useSessionContext } from '../../../api/session'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { oneOf, text } from '../../../ui/filters'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { SearchField } from '../../../ui/SearchField'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import { Time } from '../../../ui/Time'
import { Toolbar } from '../../../ui/Toolbar'
import { useFilters } from '../../../ui/useFilters'
import { NewUserDialog } from './NewUserDialog'
import { UserMenu } from './UserMenu'

const SORTS = ['email', '-email', 'createdAt', '-createdAt'] as const
const FILTERS = { q: text(), sort: oneOf(SORTS) }

export function UsersPage() {
  return (
    <OperatorsOnly title="Users">
      <Users />
    </OperatorsOnly>
  )
}

function Users() {
  const [{ q, sort }, change] = useFilters(FILTERS)
  const users = useTable(userTableQuery({ search: q, sort }))
  const organizations = useQuery(organizationNamesQuery)
  const search = useCallback((typed: string) => change({ q: typed }), [change])
  const { session } = useSessionContext()
  const [isCreating, setCreating] = useState(false)
  const nameOf = (id: string) => organizations.data?.find((one) => one.id === id)?.name ?? id
  const columns: Column<User>[] = [
    {
      id: 'email',
      header: 'Email',
      sortBy: 'server',
      cell: (user) => (
        <Group gap="xs">
          {user.email}
          {user.operator ? <StatusBadge tone="busy">Operator</StatusBadge> : null}
        </Group>
      ),
    },
    {
      id: 'organizations',
      header: 'Organizations',
      cell: (user) =>
        user.memberships
          .map(({ organizationId, role }) => `${nameOf(organizationId)} (${role === 'admin' ? 'administrator' : role})`)
          .join(', ') || 'none',
    },
    {
      id: 'createdAt',
      header: 'Created',
      sortBy: 'server',
      cell: (user) => <Time value={user.createdAt} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (user) => <UserMenu user={user} isSelf={user.id === session.user.id} />,
    },
  ]
  return (
    <>
      <PageHeader
        title="Users"
        description="Everyone with an account, in all organizations"
        actions={
          <Button leftSection={<IconUserPlus size={16} />} onClick={() => setCreating(true)}>
            New user
          </Button>
        }
      />
      <Toolbar>
        <SearchField label="Search users" placeholder="Email or organization" value={q} onChange={search} />
      </Toolbar>
      <Loaded query={users} skeleton={<TableSkeleton />} errorTitle="The users could not be loaded">
        {(table) =>
          table.rows.length === 0 ? (
            <EmptyState title="No user matches" icon={<IconUserSearch size={32} />}>
              Try a part of the email address, or of the name of an organization.
            </EmptyState>
          ) : (
            <DataTable
              caption="Users"
              columns={columns}
              rows={table}
              rowKey={(user) => user.id}
              sort={sort}
              onSort={(next) => change({ sort: SORTS.find((one) => one === next) ?? SORTS[0] })}
              minWidth={600}
            />
          )
        }
      </Loaded>
      <NewUserDialog opened={isCreating} organizations={organizations.data ?? []} onClose={() => setCreating(false)} />
    </>
  )
}

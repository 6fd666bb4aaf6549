import { Button, Group } from '@mantine/core'
import { IconUserPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { organizationsQuery } from '../../../api/operator/organizations'
import { type User, usersQuery } from '../../../api/operator/users'
import { useSessionContext } from '../../../api/session'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { type Column, DataTable } from '../../../ui/DataTable'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import { Time } from '../../../ui/Time'
import { NewUserDialog } from './NewUserDialog'
import { UserMenu } from './UserMenu'

export function UsersPage() {
  return (
    <OperatorsOnly title="Users">
      <Users />
    </OperatorsOnly>
  )
}

function Users() {
  const users = useQuery(usersQuery)
  const organizations = useQuery(organizationsQuery)
  const { session } = useSessionContext()
  const [isCreating, setCreating] = useState(false)
  const nameOf = (id: string) => organizations.data?.find((one) => one.id === id)?.name ?? id
  const columns: Column<User>[] = [
    {
      id: 'email',
      header: 'Email',
      sortBy: ({ email }) => email.toLowerCase(),
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
      id: 'created',
      header: 'Created',
      sortBy: (user) => user.createdAt,
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
      <Loaded query={users} skeleton={<TableSkeleton />} errorTitle="The users could not be loaded">
        {(all) => (
          <DataTable
            caption="Users"
            columns={columns}
            rows={all}
            rowKey={(user) => user.id}
            minWidth={600}
            find={{
              label: 'Find users',
              text: ({ email, memberships }) =>
                [email, ...memberships.map(({ organizationId }) => nameOf(organizationId))].join(' '),
            }}
          />
        )}
      </Loaded>
      <NewUserDialog opened={isCreating} organizations={organizations.data ?? []} onClose={() => setCreating(false)} />
    </>
  )
}

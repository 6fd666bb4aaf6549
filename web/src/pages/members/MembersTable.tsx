import { ActionIcon, Group, Menu, Select, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconDots, IconLayoutGrid, IconUserMinus } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { SESSION_KEY } from '../../api/client'
import { toApiError } from '../../api/errors'
import { type Member, membersQuery, type Role, setRole } from '../../api/members'
import { useOrganization, useSessionContext } from '../../api/session'
import { type Column, DataTable } from '../../ui/DataTable'
import { StatusBadge } from '../../ui/StatusBadge'
import { MemberWorkspaces } from './MemberWorkspaces'
import { RemoveMember } from './RemoveMember'
import { ROLES, roleName, whyLastAdmin, workspaceNames } from './roles'

type OpenDialog = { kind: 'remove' | 'workspaces'; member: Member } | undefined

export function MembersTable({ members }: { members: Member[] }) {
  const organization = useOrganization()
  const { session, isAdmin } = useSessionContext()
  const [dialog, openDialog] = useState<OpenDialog>()
  const workspaces = session.workspaces.filter((one) => one.organizationId === organization.id)
  const columns: Column<Member>[] = [
    {
      id: 'email',
      header: 'Email',
      cell: (member) => (
        <Group gap="xs">
          {member.email}
          {member.userId === session.user.id ? <StatusBadge tone="idle">You</StatusBadge> : null}
        </Group>
      ),
    },
    {
      id: 'role',
      header: 'Role',
      cell: (member) => (isAdmin ? <RolePicker member={member} members={members} /> : roleName(member.role)),
    },
    { id: 'workspaces', header: 'Workspaces', cell: (member) => workspaceNames(member, workspaces) },
  ]
  if (isAdmin) {
    columns.push({
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (member) => <Actions member={member} members={members} onOpenDialog={openDialog} />,
    })
  }
  const close = () => openDialog(undefined)
  return (
    <>
      <DataTable caption="Members" columns={columns} rows={members} rowKey={(member) => member.userId} minWidth={600} />
      <RemoveMember member={dialog?.kind === 'remove' ? dialog.member : undefined} onClose={close} />
      <MemberWorkspaces
        member={dialog?.kind === 'workspaces' ? dialog.member : undefined}
        workspaces={workspaces}
        onClose={close}
      />
    </>
  )
}

function RolePicker({ member, members }: { member: Member; members: Member[] }) {
  const { id } = useOrganization()
  const { session } = useSessionContext()
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: (role: Role) => setRole(id, member.userId, role),
    onSettled: () => {
      void queries.invalidateQueries(membersQuery(id))
      if (member.userId === session.user.id) void queries.invalidateQueries({ queryKey: SESSION_KEY })
    },
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not change the role', message: toApiError(error).message }),
  })
  const reason = whyLastAdmin(member, members)
  if (reason) return <span title={reason}>{roleName(member.role)}</span>
  return (
    <Select
      aria-label={`Role of ${member.email}`}
      size="xs"
      w={150}
      data={ROLES}
      value={change.isPending ? change.variables : member.role}
      allowDeselect={false}
      disabled={change.isPending}
      onChange={(role) => role && role !== member.role && change.mutate(role as Role)}
    />
  )
}

type ActionsProps = { member: Member; members: Member[]; onOpenDialog: (dialog: OpenDialog) => void }

function Actions({ member, members, onOpenDialog }: ActionsProps) {
  const reason = whyLastAdmin(member, members)
  const isAdminRole = member.role === 'admin'
  return (
    <Menu position="bottom-end" width={260} shadow="md">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" c="dimmed" aria-label={`Actions for ${member.email}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconLayoutGrid size={16} />}
          disabled={isAdminRole}
          onClick={() => onOpenDialog({ kind: 'workspaces', member })}
        >
          Workspaces
          {isAdminRole ? <Reason>Administrators have access to all workspaces</Reason> : null}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconUserMinus size={16} />}
          disabled={!!reason}
          onClick={() => onOpenDialog({ kind: 'remove', member })}
        >
          Remove from the organization
          {reason ? <Reason>{reason}</Reason> : null}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function Reason({ children }: { children: string }) {
  return (
    <Text size="xs" c="dimmed">
      {children}
    </Text>
  )
}

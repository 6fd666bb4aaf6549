import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconMail } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { toApiError } from '../../api/errors'
import { type Invitation, invitationsQuery, withdrawInvitation } from '../../api/members'
import { useSessionContext } from '../../api/session'
import { type Column, DataTable } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { Loaded } from '../../ui/Loaded'
import { TableSkeleton } from '../../ui/Skeletons'
import { Time } from '../../ui/Time'
import { roleName, workspaceNames } from './roles'

type Props = { organizationId: string; inviteButton: ReactNode }

/** Pending invitations. */
export function Invitations({ organizationId, inviteButton }: Props) {
  const { session } = useSessionContext()
  const invitations = useQuery(invitationsQuery(organizationId))
  const columns: Column<Invitation>[] = [
    { id: 'email', header: 'Email', cell: (one) => one.email },
    { id: 'role', header: 'Role', cell: (one) => roleName(one.role) },
    { id: 'workspaces', header: 'Workspaces', cell: (one) => workspaceNames(one, session.workspaces) },
    { id: 'created', header: 'Invited', cell: (one) => <Time value={one.createdAt} /> },
    { id: 'expires', header: 'Expires', cell: (one) => <Time value={one.expiresAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (one) => <Withdraw invitation={one} organizationId={organizationId} />,
    },
  ]
  return (
    <Loaded query={invitations} skeleton={<TableSkeleton rows={3} />} errorTitle="The invitations could not be loaded">
      {(all) =>
        all.length === 0 ? (
          <EmptyState title="No pending invitations" icon={<IconMail size={32} />} actions={inviteButton}>
            Invite people by email address and send them the link. Invitations are listed here until they are accepted.
          </EmptyState>
        ) : (
          <DataTable caption="Invitations" columns={columns} rows={all} rowKey={(one) => one.id} minWidth={680} />
        )
      }
    </Loaded>
  )
}

function Withdraw({ invitation, organizationId }: { invitation: Invitation; organizationId: string }) {
  const queries = useQueryClient()
  const withdraw = useMutation({
    mutationFn: () => withdrawInvitation(organizationId, invitation.id),
    onSettled: () => queries.invalidateQueries(invitationsQuery(organizationId)),
    onError: (error) =>
      notifications.show({
        color: 'red',
        title: 'Could not withdraw the invitation',
        message: toApiError(error).message,
      }),
  })
  return (
    <Button
      size="xs"
      variant="default"
      aria-label={`Withdraw the invitation of ${invitation.email}`}
      loading={withdraw.isPending}
      onClick={() => withdraw.mutate()}
    >
      Withdraw
    </Button>
  )
}

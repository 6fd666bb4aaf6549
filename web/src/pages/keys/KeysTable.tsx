import { ActionIcon, Code, Menu, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconDots, IconPlayerPause, IconPlayerPlay, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { toApiError } from '../../api/errors'
import { disableKey, enableKey, type Key, keysQuery } from '../../api/keys'
import type { Member } from '../../api/members'
import { useSessionContext } from '../../api/session'
import { type Column, DataTable } from '../../ui/DataTable'
import { StatusBadge } from '../../ui/StatusBadge'
import { Time } from '../../ui/Time'
import { creatorOf } from './creators'
import type { OpenDialog } from './KeysPage'
import { type KeyAction, keyActionBlocked, STATES } from './key-can'
import { limitsOf } from './limits'

type Props = {
  keys: Key[]
  /** Undefined until they are loaded. */
  members: Member[] | undefined
  workspaceId: string
  onOpenDialog: (dialog: OpenDialog) => void
}

export function KeysTable({ keys, members, workspaceId, onOpenDialog }: Props) {
  const columns: Column<Key>[] = [
    { id: 'name', header: 'Name', cell: (key) => key.name },
    { id: 'prefix', header: 'Key', cell: (key) => <Code style={{ whiteSpace: 'nowrap' }}>{key.prefix}</Code> },
    {
      id: 'state',
      header: 'State',
      cell: (key) => <StatusBadge tone={STATES[key.state].tone}>{STATES[key.state].label}</StatusBadge>,
    },
    { id: 'creator', header: 'Created by', cell: (key) => members && <CreatedBy apiKey={key} members={members} /> },
    { id: 'used', header: 'Last used', cell: (key) => <Time value={key.lastUsedAt} /> },
    { id: 'limits', header: 'Limits', cell: (key) => <Limits apiKey={key} /> },
    { id: 'expires', header: 'Expires', cell: (key) => <Time value={key.expiresAt} /> },
    { id: 'created', header: 'Created', cell: (key) => <Time value={key.createdAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (key) => <Actions apiKey={key} workspaceId={workspaceId} onOpenDialog={onOpenDialog} />,
    },
  ]
  return <DataTable caption="API keys" columns={columns} rows={keys} rowKey={(key) => key.id} minWidth={980} />
}

function CreatedBy({ apiKey, members }: { apiKey: Key; members: Member[] }) {
  const creator = creatorOf(apiKey, members)
  if (creator.kind === 'member') return creator.email
  if (creator.kind === 'removed') {
    return (
      <StatusBadge tone="warn" title={creator.id}>
        Removed member
      </StatusBadge>
    )
  }
  return (
    <Text span size="sm" c="dimmed">
      Command line
    </Text>
  )
}

function Limits({ apiKey }: { apiKey: Key }) {
  const limits = limitsOf(apiKey)
  return (
    <Text span size="sm" c={limits ? undefined : 'dimmed'}>
      {limits ?? 'Workspace limits'}
    </Text>
  )
}

function Actions({
  apiKey,
  workspaceId,
  onOpenDialog,
}: {
  apiKey: Key
  workspaceId: string
  onOpenDialog: Props['onOpenDialog']
}) {
  const { session, isAdmin } = useSessionContext()
  const queries = useQueryClient()
  const toggle = useMutation({
    mutationFn: (action: 'disable' | 'enable') =>
      action === 'disable' ? disableKey(workspaceId, apiKey.id) : enableKey(workspaceId, apiKey.id),
    onSettled: () => queries.invalidateQueries(keysQuery(workspaceId)),
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not change the key', message: toApiError(error).message }),
  })
  const item = (action: KeyAction, label: string, icon: React.ReactNode, onClick: () => void) => {
    const reason = keyActionBlocked(action, apiKey, { userId: session.user.id, isAdmin })
    return (
      <Menu.Item leftSection={icon} disabled={!!reason} onClick={onClick}>
        {label}
        {reason ? (
          <Text size="xs" c="dimmed">
            {reason}
          </Text>
        ) : null}
      </Menu.Item>
    )
  }
  const isDisabled = apiKey.state === 'disabled'
  return (
    <Menu position="bottom-end" width={240} shadow="md">
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          c="dimmed"
          aria-label={`Actions for ${apiKey.name}`}
          loading={toggle.isPending}
        >
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {item('rotate', 'Rotate', <IconRefresh size={16} />, () => onOpenDialog({ kind: 'rotate', key: apiKey }))}
        {isDisabled
          ? item('enable', 'Enable', <IconPlayerPlay size={16} />, () => toggle.mutate('enable'))
          : item('disable', 'Disable', <IconPlayerPause size={16} />, () => toggle.mutate('disable'))}
        {item('revoke', 'Revoke', <IconTrash size={16} />, () => onOpenDialog({ kind: 'revoke', key: apiKey }))}
      </Menu.Dropdown>
    </Menu>
  )
}

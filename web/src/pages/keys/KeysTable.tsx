import { ActionIcon, Anchor, Code, Menu, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconDots, IconPencil, IconPlayerPause, IconPlayerPlay, IconRefresh, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { toApiError } from '../../api/errors'
import { disableKey, enableKey, endOverlap, type Key, keysOf, type ListedKey } from '../../api/keys'
import type { Member } from '../../api/members'
import { useSessionContext } from '../../api/session'
import { paths } from '../../paths'
import { type Column, DataTable, type PagedRows } from '../../ui/DataTable'
import { formatCount, formatMoney, formatTime } from '../../ui/format'
import { Link } from '../../ui/Link'
import { pairTexts } from '../../ui/pairs'
import { StateBadge } from '../../ui/StateBadge'
import { StatusBadge } from '../../ui/StatusBadge'
import { Time } from '../../ui/Time'
import { budgetsText } from './budgets'
import { creatorOf } from './creators'
import type { OpenDialog } from './KeysPage'
import { type KeyAction, keyActionBlocked, STATES } from './key-can'
import { limitsOf, modelLimitTexts } from './limits'
import { accessOf } from './restrictions'

type Props = {
  keys: PagedRows<ListedKey>
  sort: string
  onSort: (sort: string) => void
  /** Undefined until they are loaded. */
  members: Member[] | undefined
  workspaceId: string
  onOpenDialog: (dialog: OpenDialog) => void
}

export function KeysTable({ keys, sort, onSort, members, workspaceId, onOpenDialog }: Props) {
  const columns: Column<ListedKey>[] = [
    {
      id: 'name',
      header: 'Name',
      sortBy: 'server',
      cell: (key) => (
        <Anchor component={Link} href={paths.key(key.id)}>
          {key.name}
        </Anchor>
      ),
    },
    { id: 'prefix', header: 'Key', cell: (key) => <Secret apiKey={key} workspaceId={workspaceId} /> },
    {
      id: 'state',
      header: 'State',
      cell: (key) => <StateBadge state={STATES[key.state]} />,
    },
    {
      id: 'createdAt',
      header: 'Created',
      sortBy: 'server',
      cell: (key) =>
        members && (
          <Stack gap={0}>
            <CreatedBy apiKey={key} members={members} />
            <Text span size="xs" c="dimmed">
              <Time value={key.createdAt} />
            </Text>
          </Stack>
        ),
    },
    { id: 'lastUsedAt', header: 'Last used', sortBy: 'server', cell: (key) => <Time value={key.lastUsedAt} /> },
    {
      id: 'calls',
      header: 'This month',
      align: 'right',
      cell: (key) => <Spent usage={key.usage} />,
    },
    { id: 'access', header: 'Access', cell: (key) => <Access apiKey={key} /> },
    { id: 'expiresAt', header: 'Expires', sortBy: 'server', cell: (key) => <Time value={key.expiresAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (key) => <Actions apiKey={key} workspaceId={workspaceId} onOpenDialog={onOpenDialog} />,
    },
  ]
  return (
    <DataTable
      caption="API keys"
      columns={columns}
      rows={keys}
      rowKey={(key) => key.id}
      sort={sort}
      onSort={onSort}
      minWidth={980}
    />
  )
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

/** The masked secret, and the one before a rotation while it still works. */
function Secret({ apiKey, workspaceId }: { apiKey: Key; workspaceId: string }) {
  const queries = useQueryClient()
  const end = useMutation({
    mutationFn: () => endOverlap(workspaceId, apiKey.id),
    onSettled: () => queries.invalidateQueries(keysOf(workspaceId)),
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not end the old secret', message: toApiError(error).message }),
  })
  return (
    <Stack gap={2} align="flex-start">
      <Code style={{ whiteSpace: 'nowrap' }}>{apiKey.prefix}</Code>
      {apiKey.overlapUntil ? (
        <Text size="xs" c="dimmed" component="div">
          old value until {formatTime(apiKey.overlapUntil)},{' '}
          <Anchor component="button" type="button" size="xs" disabled={end.isPending} onClick={() => end.mutate()}>
            end now
          </Anchor>
        </Text>
      ) : null}
    </Stack>
  )
}

/** Calls and their cost; a node that is not upgraded yet does not say them. */
function Spent({ usage }: { usage: ListedKey['usage'] | undefined }) {
  if (!usage) return '–'
  if (!usage.requests)
    return (
      <Text span size="sm" c="dimmed">
        no calls
      </Text>
    )
  return (
    <Stack gap={0}>
      <span>
        {formatCount(usage.requests)} {usage.requests === 1 ? 'call' : 'calls'}
      </span>
      <Text span size="xs" c="dimmed">
        {formatMoney(usage.costUsd)}
      </Text>
    </Stack>
  )
}

/** What the key may do, its own limits, its budgets and its labels. */
function Access({ apiKey }: { apiKey: Key }) {
  const labels = pairTexts(apiKey.labels)
  const budgets = budgetsText(apiKey.budgets)
  return (
    <Stack gap={0}>
      <Text span size="sm">
        {accessOf(apiKey) ?? 'Everything'}
      </Text>
      <Text span size="xs" c="dimmed">
        {[limitsOf(apiKey) ?? 'Workspace limits', ...modelLimitTexts(apiKey)].join('; ')}
      </Text>
      {budgets ? (
        <Text span size="xs" c="dimmed">
          {budgets}
        </Text>
      ) : null}
      {labels.length ? (
        <Text span size="xs" c="dimmed">
          {labels.join(', ')}
        </Text>
      ) : null}
    </Stack>
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
    onSettled: () => queries.invalidateQueries(keysOf(workspaceId)),
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
        {item('edit', 'Edit', <IconPencil size={16} />, () => onOpenDialog({ kind: 'edit', key: apiKey }))}
        {item('rotate', 'Rotate', <IconRefresh size={16} />, () => onOpenDialog({ kind: 'rotate', key: apiKey }))}
        {isDisabled
          ? item('enable', 'Enable', <IconPlayerPlay size={16} />, () => toggle.mutate('enable'))
          : item('disable', 'Disable', <IconPlayerPause size={16} />, () => toggle.mutate('disable'))}
        {item('revoke', 'Revoke', <IconTrash size={16} />, () => onOpenDialog({ kind: 'revoke', key: apiKey }))}
      </Menu.Dropdown>
    </Menu>
  )
}

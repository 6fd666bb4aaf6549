import { List } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Key, keysQuery, revokeKeys } from '../../api/keys'
import { useOrganization } from '../../api/session'
import { ConfirmByTyping } from '../../ui/ConfirmByTyping'
import { countOf } from './key-can'

type Props = { opened: boolean; keys: Key[]; workspaceId: string; onClose: () => void }

/** Revokes the listed keys together, for administrators. */
export function RevokeMany({ opened, keys, workspaceId, onClose }: Props) {
  const organization = useOrganization()
  const queries = useQueryClient()
  const revoke = useMutation({
    mutationFn: (ids: string[]) => revokeKeys(organization.id, ids),
    onSuccess: (_, ids) => {
      notifications.show({ title: 'Keys revoked', message: `Calls with ${countOf(ids.length)} are now rejected.` })
      onClose()
    },
    onSettled: () => queries.invalidateQueries(keysQuery(workspaceId)),
  })
  return (
    <ConfirmByTyping
      opened={opened}
      onClose={() => {
        revoke.reset()
        onClose()
      }}
      title="Revoke keys"
      expected={`revoke ${countOf(keys.length)}`}
      action={`Revoke ${countOf(keys.length)}`}
      onConfirm={() => revoke.mutate(keys.map(({ id }) => id))}
      isPending={revoke.isPending}
      error={revoke.error}
    >
      Calls with these keys are rejected immediately.{' '}
      {keys.some(({ state }) => state === 'disabled') ? 'Disabled keys are revoked, too. ' : ''}This cannot be undone.
      <List size="sm" mt="xs" mah={200} style={{ overflowY: 'auto' }}>
        {keys.map((key) => (
          <List.Item key={key.id}>
            {key.name} ({key.prefix})
          </List.Item>
        ))}
      </List>
    </ConfirmByTyping>
  )
}

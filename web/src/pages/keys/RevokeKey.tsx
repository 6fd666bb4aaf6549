import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Key, keysOf, revokeKey, revokeKeys } from '../../api/keys'
import { useOrganization } from '../../api/session'
import { ConfirmByTyping } from '../../ui/ConfirmByTyping'

type Props = { apiKey: Key | undefined; workspaceId: string; onClose: () => void }

export function RevokeKey({ apiKey, workspaceId, onClose }: Props) {
  const organization = useOrganization()
  const queries = useQueryClient()
  const revoke = useMutation({
    // The route of a single key rejects disabled ones; that of administrators for several does not.
    mutationFn: async (key: Key) => {
      if (key.state === 'disabled') await revokeKeys(organization.id, [key.id])
      else await revokeKey(workspaceId, key.id)
    },
    onSuccess: (_, key) => {
      notifications.show({ title: 'Key revoked', message: `Calls with ${key.name} are now rejected.` })
      onClose()
    },
    onSettled: () => queries.invalidateQueries(keysOf(workspaceId)),
  })
  const close = () => {
    revoke.reset()
    onClose()
  }
  return (
    <ConfirmByTyping
      opened={!!apiKey}
      onClose={close}
      title="Revoke key"
      expected={apiKey?.name ?? ''}
      action="Revoke key"
      onConfirm={() => apiKey && revoke.mutate(apiKey)}
      isPending={revoke.isPending}
      error={revoke.error}
    >
      {apiKey?.state === 'disabled'
        ? 'An administrator disabled this key, so the API rejects its revocation (409) unless an administrator includes disabled keys, as this does. Calls with it are rejected already. This cannot be undone.'
        : 'Calls with this key are rejected immediately. This cannot be undone; disable the key instead if you are not sure.'}
    </ConfirmByTyping>
  )
}

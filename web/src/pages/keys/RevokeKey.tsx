import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Key, keysQuery, revokeKey } from '../../api/keys'
import { ConfirmByTyping } from '../../ui/ConfirmByTyping'

type Props = { apiKey: Key | undefined; workspaceId: string; onClose: () => void }

export function RevokeKey({ apiKey, workspaceId, onClose }: Props) {
  const queries = useQueryClient()
  const revoke = useMutation({
    mutationFn: (key: Key) => revokeKey(workspaceId, key.id),
    onSuccess: (_, key) => {
      notifications.show({ title: 'Key revoked', message: `Calls with ${key.name} are now rejected.` })
      onClose()
    },
    onSettled: () => queries.invalidateQueries(keysQuery(workspaceId)),
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
      Calls with this key are rejected immediately. This cannot be undone; disable the key instead if you are not sure.
    </ConfirmByTyping>
  )
}

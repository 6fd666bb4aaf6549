import { List, Skeleton } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type KeySelection, keysOf, revokeKeys, selectedKeysQuery } from '../../api/keys'
import { useOrganization } from '../../api/session'
import { ConfirmByTyping } from '../../ui/ConfirmByTyping'
import { Loaded } from '../../ui/Loaded'
import { countOf } from './key-can'

type Props = { opened: boolean; selection: KeySelection; workspaceId: string; onClose: () => void }

/** Revokes the selected keys together, for administrators. */
export function RevokeMany({ opened, selection, workspaceId, onClose }: Props) {
  const organization = useOrganization()
  const queries = useQueryClient()
  const selected = useQuery({ ...selectedKeysQuery(workspaceId, selection), enabled: opened })
  const keys = selected.data ?? []
  const revoke = useMutation({
    mutationFn: (ids: string[]) => revokeKeys(organization.id, ids),
    onSuccess: (_, ids) => {
      notifications.show({ title: 'Keys revoked', message: `Calls with ${countOf(ids.length)} are now rejected.` })
      onClose()
    },
    onSettled: () => queries.invalidateQueries(keysOf(workspaceId)),
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
      <Loaded query={selected} skeleton={<Skeleton h={48} />} errorTitle="The keys could not be loaded">
        {() => (
          <List size="sm" mt="xs" mah={200} style={{ overflowY: 'auto' }}>
            {keys.slice(0, LISTED).map((key) => (
              <List.Item key={key.id}>
                {key.name} ({key.prefix})
              </List.Item>
            ))}
            {keys.length > LISTED ? <List.Item>and {countOf(keys.length - LISTED)} more</List.Item> : null}
          </List>
        )}
      </Loaded>
    </ConfirmByTyping>
  )
}

const LISTED = 100

import { List } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { sessionQuery } from '../../api/session'
import { deleteWorkspace, type Workspace } from '../../api/workspaces'
import { ConfirmByTyping } from '../../ui/ConfirmByTyping'

type Props = { workspace: Workspace | undefined; keyCount: number; onClose: () => void }

export function DeleteWorkspace({ workspace, keyCount, onClose }: Props) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: (id: string) => deleteWorkspace(id),
    onSuccess: () => {
      notifications.show({ title: 'Workspace deleted', message: `${workspace?.name} and its keys are gone.` })
      void queries.invalidateQueries(sessionQuery)
      onClose()
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['workspaces'] }),
  })
  const close = () => {
    remove.reset()
    onClose()
  }
  return (
    <ConfirmByTyping
      opened={!!workspace}
      onClose={close}
      title={`Delete ${workspace?.name ?? 'workspace'}?`}
      expected={workspace?.name ?? ''}
      action="Delete workspace"
      onConfirm={() => workspace && remove.mutate(workspace.id)}
      isPending={remove.isPending}
      error={remove.error ?? undefined}
    >
      <List size="sm" spacing={4}>
        <List.Item>
          {keyCount === 0
            ? 'It has no keys in use.'
            : `Its ${keyCount} ${keyCount === 1 ? 'key stops' : 'keys stop'} working at once.`}
        </List.Item>
        <List.Item>Its members lose access to it, and its limits, aliases and stored responses are deleted.</List.Item>
        <List.Item>
          Lines of its batches that have not begun fail. Its files can no longer be read, and are deleted when they
          expire.
        </List.Item>
        <List.Item>Its usage and bills stay.</List.Item>
        <List.Item>Dedicated endpoints must be deleted before.</List.Item>
      </List>
    </ConfirmByTyping>
  )
}

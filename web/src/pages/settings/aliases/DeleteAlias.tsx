import { Code } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Alias, deleteAlias, refreshAliases } from '../../../api/aliases'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'

type Props = { workspaceId: string; alias: Alias | undefined; onClose: () => void }

export function DeleteAlias({ workspaceId, alias, onClose }: Props) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: (name: string) => deleteAlias(workspaceId, name),
    onSuccess: onClose,
    onSettled: () => refreshAliases(queries, workspaceId),
  })
  const close = () => {
    remove.reset()
    onClose()
  }
  return (
    <ConfirmDialog
      opened={!!alias}
      onClose={close}
      title="Delete alias"
      action="Delete alias"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => alias && remove.mutate(alias.name)}
    >
      Calls to <Code>{alias?.name}</Code> fail with <Code>model_not_found</Code>, unless another alias matches the name.
    </ConfirmDialog>
  )
}

import { Button, Code, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { deleteModel, editModel, type OperatorModel, refreshModels } from '../../../api/operator/catalogue'
import { paths } from '../../../paths'
import { ConfirmByTyping } from '../../../ui/ConfirmByTyping'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'
import { usesOf } from './source'

/** Disables, enables and deletes a model of the store. */
export function ModelActions({ model }: { model: OperatorModel }) {
  const queries = useQueryClient()
  const router = useRouter()
  const [opened, open] = useState<'disable' | 'delete'>()
  const toggle = useMutation({
    mutationFn: (enabled: boolean) => editModel(model.id, { version: model.version ?? 0, enabled }),
    onSuccess: () => open(undefined),
    onSettled: () => refreshModels(queries),
  })
  const remove = useMutation({
    mutationFn: () => deleteModel(model.id),
    onSuccess: () => {
      router.history.push(paths.operatorModels())
      queries.removeQueries({ queryKey: ['operator', 'models', model.id] })
      void refreshModels(queries)
    },
  })
  const close = () => {
    toggle.reset()
    remove.reset()
    open(undefined)
  }
  return (
    <>
      {model.enabled ? (
        <Button variant="default" onClick={() => open('disable')}>
          Disable
        </Button>
      ) : (
        <Button variant="default" loading={toggle.isPending} onClick={() => toggle.mutate(true)}>
          Enable
        </Button>
      )}
      <Button variant="default" c="red" onClick={() => open('delete')}>
        Delete
      </Button>
      <ConfirmDialog
        opened={opened === 'disable'}
        onClose={close}
        title="Disable model"
        action="Disable model"
        isPending={toggle.isPending}
        error={toggle.error}
        onConfirm={() => toggle.mutate(false)}
      >
        New calls to <Code>{model.id}</Code> fail with <Code>model_not_found</Code>. Calls in flight end normally.
        <Uses model={model} />
      </ConfirmDialog>
      <ConfirmByTyping
        opened={opened === 'delete'}
        onClose={close}
        title="Delete model"
        expected={model.id}
        action="Delete model"
        isPending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        The definition and the keys of its servers are deleted on all nodes. Usage and bills stay. Calls in flight end
        normally, and dedicated endpoints keep running.
        <Uses model={model} />
      </ConfirmByTyping>
    </>
  )
}

function Uses({ model }: { model: OperatorModel }) {
  const uses = usesOf(model.usedBy)
  return uses ? (
    <Text fw={550} mt="xs">
      Still used by {uses}.
    </Text>
  ) : null
}

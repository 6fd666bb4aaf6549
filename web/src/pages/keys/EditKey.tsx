import { Button, Modal, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useApiForm } from '../../api/form'
import { editKey, type Key, keysOf } from '../../api/keys'
import { workspaceQuery } from '../../api/workspaces'
import { DialogButtons } from '../../ui/DialogButtons'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { KeyFields } from './KeyFields'
import { isComplete, lifetimesFor, toEdit, valuesOf } from './key-values'

type Props = { apiKey: Key | undefined; workspaceId: string; onClose: () => void }

/** Changes the settings of a key; its secret stays. */
export function EditKey({ apiKey, workspaceId, onClose }: Props) {
  return (
    <Modal opened={!!apiKey} onClose={onClose} title={`Edit ${apiKey?.name ?? 'key'}`} size="lg">
      {apiKey ? <Fields apiKey={apiKey} workspaceId={workspaceId} onClose={onClose} /> : null}
    </Modal>
  )
}

function Fields({ apiKey, workspaceId, onClose }: Props & { apiKey: Key }) {
  const queries = useQueryClient()
  const limits = useQuery(workspaceQuery(workspaceId))
  const { form, sending, submit, error } = useApiForm({
    initialValues: valuesOf(apiKey),
    send: (values) => editKey(workspaceId, apiKey.id, toEdit(values, Date.now())),
    onSuccess: (saved) => {
      notifications.show({ title: 'Key saved', message: `${saved.name} has its new settings.` })
      onClose()
    },
    onSettled: () => queries.invalidateQueries(keysOf(workspaceId)),
  })
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <KeyFields
          form={form}
          lifetimes={lifetimesFor(apiKey.expiresAt)}
          workspaceId={workspaceId}
          limits={limits.data}
        />
        {error ? <ErrorPanel error={error} title="Could not save the key" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!isComplete(form.values)}>
            Save key
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

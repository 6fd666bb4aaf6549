import { Button, Modal, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApiForm } from '../../api/form'
import { createKey, keysOf } from '../../api/keys'
import { workspaceQuery } from '../../api/workspaces'
import { DialogButtons } from '../../ui/DialogButtons'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { KeyFields } from './KeyFields'
import { EMPTY, isComplete, lifetimesFor, toKey } from './key-values'
import { NewSecret } from './NewSecret'

type Props = { opened: boolean; workspaceId: string; onClose: () => void }

export function CreateKey({ opened, workspaceId, onClose }: Props) {
  const [isSecretShown, setSecretShown] = useState(false)
  // While the secret is shown, Escape and clicks outside do not close the dialog.
  const close = () => isSecretShown || onClose()
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={isSecretShown ? 'Key created' : 'Create key'}
      size="lg"
      withCloseButton={!isSecretShown}
    >
      <Fields
        workspaceId={workspaceId}
        onSecret={() => setSecretShown(true)}
        onClose={() => {
          setSecretShown(false)
          onClose()
        }}
      />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ workspaceId, onSecret, onClose }: Omit<Props, 'opened'> & { onSecret: () => void }) {
  const queries = useQueryClient()
  const limits = useQuery(workspaceQuery(workspaceId))
  const { form, sending, submit, error } = useApiForm({
    initialValues: EMPTY,
    send: (values) => createKey(workspaceId, toKey(values, Date.now())),
    onSuccess: onSecret,
    onSettled: () => queries.invalidateQueries(keysOf(workspaceId)),
  })
  if (sending.data?.key) return <NewSecret secret={sending.data.key} workspaceId={workspaceId} onClose={onClose} />
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <KeyFields form={form} lifetimes={lifetimesFor()} workspaceId={workspaceId} limits={limits.data} />
        {error ? <ErrorPanel error={error} title="Could not create the key" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!isComplete(form.values)}>
            Create key
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

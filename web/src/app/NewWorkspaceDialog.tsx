import { Modal } from '@mantine/core'
import { NameForm } from './NameForm'
import { useNewWorkspace } from './new-context'

/** Creates a workspace of the current organization and switches to it. */
export function NewWorkspaceDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="New workspace">
      <Fields onCreated={onClose} />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ onCreated }: { onCreated: () => void }) {
  const create = useNewWorkspace()
  const mutation = {
    ...create,
    mutate: (name: string) => create.mutate(name, { onSuccess: onCreated }),
  }
  return <NameForm label="Workspace name" action="Create workspace" mutation={mutation} />
}

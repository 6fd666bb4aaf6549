import { Button, Modal, Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type EndUser, editEndUser, endUserQuery, endUsersOf } from '../../../api/end-users'
import { useApiForm } from '../../../api/form'
import { DialogButtons } from '../../../ui/DialogButtons'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { endUserName } from '../../../ui/end-users'
import { BudgetBars } from '../../keys/BudgetBars'
import { isComplete, toEdit, valuesOf } from './end-user-values'
import { LimitFields } from './LimitFields'

type Props = { endUser: EndUser | undefined; workspaceId: string; onClose: () => void }

/** Gives an end user limits and budgets that differ from those of the others. */
export function EditEndUser({ endUser, workspaceId, onClose }: Props) {
  return (
    <Modal
      opened={!!endUser}
      onClose={onClose}
      title={`Limits of ${endUser ? endUserName(endUser.id, endUser.name) : ''}`}
      size="lg"
    >
      {endUser ? <Fields endUser={endUser} workspaceId={workspaceId} onClose={onClose} /> : null}
    </Modal>
  )
}

function Fields({ endUser, workspaceId, onClose }: Props & { endUser: EndUser }) {
  const queries = useQueryClient()
  const spending = useQuery(endUserQuery(workspaceId, endUser.id))
  const { form, sending, submit, error } = useApiForm({
    initialValues: valuesOf(endUser),
    send: (values) => editEndUser(workspaceId, endUser.id, toEdit(values)),
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries(endUsersOf(workspaceId)),
  })
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {spending.data?.spending.length ? <BudgetBars spending={spending.data.spending} /> : null}
        <LimitFields form={form} placeholder="Default" />
        {error ? <ErrorPanel error={error} title="Could not save the limits" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!isComplete(form.values)}>
            Save
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

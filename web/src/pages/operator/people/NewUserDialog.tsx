import { Button, Modal, MultiSelect, Select, Stack, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError, fieldPath } from '../../../api/errors'
import { useApiForm } from '../../../api/form'
import { organizationWorkspacesQuery, type Role } from '../../../api/operator/organizations'
import { createUser, users } from '../../../api/operator/users'
import { DialogButtons } from '../../../ui/DialogButtons'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { noWorkspaceYet, workspacesOf } from '../../members/roles'
import { NewPassword } from './NewPassword'

type Props = { opened: boolean; organizations: readonly { id: string; name: string }[]; onClose: () => void }

const ROLES = [
  { value: 'member', label: 'Member' },
  { value: 'admin', label: 'Administrator' },
]

/** Creates a user and shows the generated password once. */
export function NewUserDialog(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title="New user">
      <Fields {...props} />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ organizations, onClose }: Props) {
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: {
      email: '',
      organizationId: organizations[0]?.id ?? '',
      role: 'member' as Role,
      workspaceIds: undefined as string[] | undefined,
    },
    send: (user) => createUser({ ...user, email: user.email.trim(), workspaceIds: chosen }),
    pathOf: (error) => (error instanceof ApiError && error.code === 'email_taken' ? 'email' : fieldPath(error)),
    onSettled: () => queries.invalidateQueries(users),
  })
  const { organizationId, role, workspaceIds } = form.values
  const workspaces = useQuery({ ...organizationWorkspacesQuery(organizationId), enabled: !!organizationId })
  const chosen = workspacesOf(role, workspaceIds, workspaces.data ?? [])
  if (sending.data?.password)
    return <NewPassword email={sending.data.email} password={sending.data.password} onClose={onClose} />
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <TextInput
          label="Email"
          type="email"
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps('email')}
        />
        <Select
          label="Organization"
          required
          searchable
          limit={100}
          allowDeselect={false}
          data={organizations.map(({ id, name }) => ({ value: id, label: name }))}
          {...form.getInputProps('organizationId')}
          onChange={(id) => form.setValues({ organizationId: id ?? '', workspaceIds: undefined })}
        />
        <Select label="Role" allowDeselect={false} data={ROLES} {...form.getInputProps('role')} />
        {role === 'member' ? (
          <MultiSelect
            label="Workspaces"
            description={chosen.length ? undefined : noWorkspaceYet(role)}
            searchable
            maxValues={100}
            data={(workspaces.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            {...form.getInputProps('workspaceIds')}
            value={chosen}
          />
        ) : null}
        {error ? <ErrorPanel error={error} title="Could not create the user" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button
            type="submit"
            loading={sending.isPending}
            disabled={!form.values.email.trim() || !organizationId || workspaces.isPending}
          >
            Create user
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

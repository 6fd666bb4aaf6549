import { Button, Modal, MultiSelect, Radio, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useApiForm } from '../../api/form'
import { invitationsQuery, invite, type Role } from '../../api/members'
import { useSessionContext } from '../../api/session'
import { DialogButtons } from '../../ui/DialogButtons'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { InvitationLink } from '../../ui/InvitationLink'
import { ROLES, whyNoWorkspace } from './roles'

type Props = { opened: boolean; organizationId: string; onClose: () => void }

export function Invite({ opened, organizationId, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Invite a member">
      <Fields organizationId={organizationId} onClose={onClose} />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ organizationId, onClose }: Omit<Props, 'opened'>) {
  const { session } = useSessionContext()
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: {
      email: '',
      role: 'member' as Role,
      workspaceIds: session.currentWorkspaceId ? [session.currentWorkspaceId] : [],
    },
    send: ({ email, role, workspaceIds }) =>
      invite(organizationId, { email: email.trim(), role, workspaceIds: role === 'admin' ? [] : workspaceIds }),
    onSettled: () => queries.invalidateQueries(invitationsQuery(organizationId)),
  })
  const { email, role, workspaceIds } = form.values
  if (sending.data?.url)
    return <InvitationLink expiresAt={sending.data.expiresAt} url={sending.data.url} onClose={onClose} />
  const workspaces = session.workspaces.filter((one) => one.organizationId === organizationId)
  const noWorkspace = whyNoWorkspace(role, workspaceIds)
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <TextInput
          type="email"
          label="Email"
          placeholder="ada@example.com"
          required
          data-autofocus
          {...form.getInputProps('email')}
        />
        <Radio.Group label="Role" {...form.getInputProps('role')}>
          <Stack gap="xs" mt={4}>
            {ROLES.map(({ value, label, meaning }) => (
              <Radio key={value} value={value} label={label} description={meaning} />
            ))}
          </Stack>
        </Radio.Group>
        {role === 'member' ? (
          <MultiSelect
            label="Workspaces"
            placeholder={workspaceIds.length ? undefined : 'Choose at least one'}
            data={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
            {...form.getInputProps('workspaceIds')}
            error={noWorkspace ?? form.errors.workspaceIds}
          />
        ) : null}
        {error ? <ErrorPanel error={error} title="Could not create the invitation" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!email.trim() || !!noWorkspace}>
            Create invitation
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

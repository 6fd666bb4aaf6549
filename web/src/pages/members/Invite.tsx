import { Alert, Button, Code, Group, Modal, MultiSelect, Radio, Stack, TextInput } from '@mantine/core'
import { IconMailForward } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useApiForm } from '../../api/form'
import { type Invitation, invitationsQuery, invite, type Role } from '../../api/members'
import { useSessionContext } from '../../api/session'
import { CopyTextButton } from '../../ui/CopyButton'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatTime } from '../../ui/format'
import { ROLES } from './roles'

type Props = { opened: boolean; organizationId: string; onClose: () => void }

export function Invite({ opened, organizationId, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Invite a member" closeButtonProps={{ 'aria-label': 'Close' }}>
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
  if (sending.data?.url) return <InvitationLink invitation={sending.data} url={sending.data.url} onClose={onClose} />
  const workspaces = session.workspaces.filter((one) => one.organizationId === organizationId)
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
            placeholder={workspaceIds.length ? undefined : 'None yet'}
            data={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
            {...form.getInputProps('workspaceIds')}
          />
        ) : null}
        {error ? <ErrorPanel error={error} title="Could not create the invitation" /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={sending.isPending} disabled={!email.trim()}>
            Create invitation
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** The invitation link, shown once. Forebay does not send email. */
function InvitationLink({ invitation, url, onClose }: { invitation: Invitation; url: string; onClose: () => void }) {
  return (
    <Stack gap="sm">
      <Alert color="var(--fb-busy)" variant="outline" icon={<IconMailForward aria-hidden />} title="Send this link">
        Forebay does not send email. The link is shown only once, works once, and expires on{' '}
        {formatTime(invitation.expiresAt)}.
      </Alert>
      <Code block aria-label="Invitation link" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {url}
      </Code>
      <Group justify="space-between">
        <CopyTextButton value={url} label="Copy link" />
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}

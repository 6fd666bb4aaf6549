import { Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { ApiError } from '../../../api/errors'
import type { OperatorOrganization, Role } from '../../../api/operator/organizations'
import { createUser, type NewUser, usersQuery } from '../../../api/operator/users'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { NewPassword } from './NewPassword'

type Props = { opened: boolean; organizations: readonly OperatorOrganization[]; onClose: () => void }

/** Creates a user and shows the generated password once. */
export function NewUserDialog({ opened, organizations, onClose }: Props) {
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: (user: NewUser) => createUser(user),
    onSettled: () => queries.invalidateQueries(usersQuery),
  })
  const close = () => {
    create.reset()
    onClose()
  }
  return (
    <Modal opened={opened} onClose={close} title="New user" closeButtonProps={{ 'aria-label': 'Close' }}>
      {create.data?.password ? (
        <NewPassword email={create.data.email} password={create.data.password} onClose={close} />
      ) : (
        <Fields
          organizations={organizations}
          isPending={create.isPending}
          error={create.error}
          onCreate={(user) => create.mutate(user)}
          onClose={close}
        />
      )}
    </Modal>
  )
}

type FieldsProps = {
  organizations: readonly OperatorOrganization[]
  isPending: boolean
  error: Error | null
  onCreate: (user: NewUser) => void
  onClose: () => void
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ organizations, isPending, error, onCreate, onClose }: FieldsProps) {
  const [email, setEmail] = useState('')
  const [organizationId, setOrganization] = useState(organizations[0]?.id ?? '')
  const [role, setRole] = useState<Role>('member')
  const isEmailError = error instanceof ApiError && (error.field === 'email' || error.code === 'email_taken')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onCreate({ email: email.trim(), organizationId, role })
  }
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <TextInput
          label="Email"
          type="email"
          required
          data-autofocus
          autoComplete="off"
          value={email}
          error={isEmailError ? error.message : undefined}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <Select
          label="Organization"
          required
          searchable
          allowDeselect={false}
          data={organizations.map(({ id, name }) => ({ value: id, label: name }))}
          value={organizationId}
          onChange={(value) => setOrganization(value ?? '')}
        />
        <Select
          label="Role"
          allowDeselect={false}
          data={[
            { value: 'member', label: 'Member' },
            { value: 'admin', label: 'Administrator' },
          ]}
          value={role}
          onChange={(value) => setRole((value ?? 'member') as Role)}
        />
        {error && !isEmailError ? <ErrorPanel error={error} title="Could not create the user" /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={isPending} disabled={!email.trim() || !organizationId}>
            Create user
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

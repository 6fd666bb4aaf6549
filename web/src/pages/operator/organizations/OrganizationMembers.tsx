import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type OrganizationMember,
  organizationMembersQuery,
  putMember,
  type Role,
  refreshOrganizations,
  removeOrganizationMember,
} from '../../../api/operator/organizations'
import { foundUsersQuery } from '../../../api/operator/users'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'
import { type Column, DataTable } from '../../../ui/DataTable'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { noWorkspaceYet } from '../../members/roles'

const DEBOUNCE_MS = 200
const ROLES = [
  { value: 'member', label: 'Member' },
  { value: 'admin', label: 'Administrator' },
]

/** Members of any organization: roles, additions and removals. */
export function OrganizationMembers({ organizationId }: { organizationId: string }) {
  const queries = useQueryClient()
  const members = useQuery(organizationMembersQuery(organizationId))
  const [removed, setRemoved] = useState<OrganizationMember>()
  const refresh = () => refreshOrganizations(queries)
  const change = useMutation({
    mutationFn: ({ userId, role }: { userId: string; role: Role }) => putMember(organizationId, userId, role),
    onSettled: refresh,
  })
  const remove = useMutation({
    mutationFn: (userId: string) => removeOrganizationMember(organizationId, userId),
    onSuccess: () => setRemoved(undefined),
    onSettled: refresh,
  })
  const columns: Column<OrganizationMember>[] = [
    { id: 'email', header: 'Email', cell: (member) => member.email },
    {
      id: 'role',
      header: 'Role',
      cell: (member) => (
        <Select
          aria-label={`Role of ${member.email}`}
          size="xs"
          w={150}
          data={ROLES}
          value={member.role}
          allowDeselect={false}
          disabled={change.isPending}
          onChange={(role) => role && role !== member.role && change.mutate({ ...member, role: role as Role })}
        />
      ),
    },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (member) => (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Remove ${member.email}`}
          onClick={() => setRemoved(member)}
        >
          Remove
        </Button>
      ),
    },
  ]
  return (
    <Panel title="Members">
      <Stack gap="md">
        <Loaded query={members} skeleton={<TableSkeleton rows={3} />} errorTitle="The members could not be loaded">
          {(all) =>
            all.length === 0 ? (
              <Text c="dimmed">No members yet.</Text>
            ) : (
              <DataTable
                caption="Members of the organization"
                columns={columns}
                rows={all}
                rowKey={(member) => member.userId}
                minWidth={420}
              />
            )
          }
        </Loaded>
        {change.error ? <ErrorPanel error={change.error} title="Could not change the members" /> : null}
        <AddMember
          members={members.data ?? []}
          isPending={change.isPending}
          onAdd={(userId, role) => change.mutate({ userId, role })}
        />
      </Stack>
      <ConfirmDialog
        opened={!!removed}
        onClose={() => {
          remove.reset()
          setRemoved(undefined)
        }}
        title="Remove member"
        action="Remove member"
        isPending={remove.isPending}
        error={remove.error}
        onConfirm={() => removed && remove.mutate(removed.userId)}
      >
        {removed?.email} loses access to this organization. Keys that they created keep working.
      </ConfirmDialog>
    </Panel>
  )
}

type AddProps = {
  members: readonly OrganizationMember[]
  isPending: boolean
  onAdd: (userId: string, role: Role) => void
}

function AddMember({ members, isPending, onAdd }: AddProps) {
  const [typed, setTyped] = useState('')
  const [searched] = useDebouncedValue(typed, DEBOUNCE_MS)
  const users = useQuery(foundUsersQuery(searched))
  const form = useForm({ initialValues: { userId: null as string | null, role: 'member' as Role } })
  const others = (users.data ?? []).filter((user) => !members.some((member) => member.userId === user.id))
  const hint = noWorkspaceYet(form.values.role)
  const submit = form.onSubmit(({ userId, role }) => {
    if (userId) onAdd(userId, role)
    form.setFieldValue('userId', null)
  })
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <Select
          label="Add a user"
          placeholder="Choose a user"
          nothingFoundMessage="No other user has this address"
          searchable
          searchValue={typed}
          onSearchChange={setTyped}
          data={others.map((user) => ({ value: user.id, label: user.email }))}
          {...form.getInputProps('userId')}
        />
        <Select label="Role" w={160} data={ROLES} allowDeselect={false} {...form.getInputProps('role')} />
        <Button type="submit" variant="default" loading={isPending} disabled={!form.values.userId}>
          Add
        </Button>
      </Group>
      {hint ? (
        <Text size="sm" c="dimmed" mt={4}>
          {hint}
        </Text>
      ) : null}
    </form>
  )
}

import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Member, membersQuery, putIntoWorkspace, takeOutOfWorkspace } from '../../api/members'
import { useOrganization } from '../../api/session'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { moves } from './roles'

type Workspaces = { id: string; name: string }[]
type Props = { member: Member | undefined; workspaces: Workspaces; onClose: () => void }

/** The workspaces that a member works in. */
export function WorkspacesOf({ member, workspaces, onClose }: Props) {
  return (
    <Modal
      opened={!!member}
      onClose={onClose}
      title={`Workspaces of ${member?.email ?? ''}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {member ? <Fields member={member} workspaces={workspaces} onClose={onClose} /> : null}
    </Modal>
  )
}

function Fields({ member, workspaces, onClose }: Props & { member: Member }) {
  const { id } = useOrganization()
  const queries = useQueryClient()
  const [chosen, setChosen] = useState(member.workspaceIds)
  const save = useMutation({
    mutationFn: async () => {
      const { put, take } = moves(member.workspaceIds, chosen)
      for (const workspace of put) await putIntoWorkspace(workspace, member.userId)
      for (const workspace of take) await takeOutOfWorkspace(workspace, member.userId)
    },
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries(membersQuery(id)),
  })
  if (workspaces.length === 0)
    return <Text c="dimmed">There is no workspace yet. Create one at the top of the navigation.</Text>
  return (
    <Stack gap="sm">
      <Checkbox.Group value={chosen} onChange={setChosen} aria-label="Workspaces">
        <Stack gap="xs">
          {workspaces.map((workspace) => (
            <Checkbox key={workspace.id} value={workspace.id} label={workspace.name} />
          ))}
        </Stack>
      </Checkbox.Group>
      {save.error ? <ErrorPanel error={save.error} title="Not changed" /> : null}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button loading={save.isPending} onClick={() => save.mutate()}>
          Save
        </Button>
      </Group>
    </Stack>
  )
}

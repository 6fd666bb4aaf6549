import { Button, Checkbox, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { addToWorkspace, type Member, membersQuery, removeFromWorkspace } from '../../api/members'
import { useOrganization } from '../../api/session'
import { DialogButtons } from '../../ui/DialogButtons'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { membershipChanges, whyNoWorkspace } from './roles'

type Workspaces = { id: string; name: string }[]
type Props = { member: Member | undefined; workspaces: Workspaces; onClose: () => void }

/** Dialog for the workspaces of a member. */
export function MemberWorkspaces({ member, workspaces, onClose }: Props) {
  return (
    <Modal opened={!!member} onClose={onClose} title={`Workspaces of ${member?.email ?? ''}`}>
      {member ? <Fields member={member} workspaces={workspaces} onClose={onClose} /> : null}
    </Modal>
  )
}

function Fields({ member, workspaces, onClose }: Props & { member: Member }) {
  const { id } = useOrganization()
  const queries = useQueryClient()
  const [selected, setSelected] = useState(member.workspaceIds)
  const save = useMutation({
    mutationFn: async () => {
      const { added, removed } = membershipChanges(member.workspaceIds, selected)
      for (const workspace of added) await addToWorkspace(workspace, member.userId)
      for (const workspace of removed) await removeFromWorkspace(workspace, member.userId)
    },
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries(membersQuery(id)),
  })
  const noWorkspace = whyNoWorkspace(member.role, selected)
  if (workspaces.length === 0) return <Text c="dimmed">There are no workspaces yet.</Text>
  return (
    <Stack gap="sm">
      <Checkbox.Group value={selected} onChange={setSelected} aria-label="Workspaces" error={noWorkspace}>
        <Stack gap="xs">
          {workspaces.map((workspace) => (
            <Checkbox key={workspace.id} value={workspace.id} label={workspace.name} />
          ))}
        </Stack>
      </Checkbox.Group>
      {save.error ? <ErrorPanel error={save.error} title="Could not change the workspaces" /> : null}
      <DialogButtons onCancel={onClose}>
        <Button loading={save.isPending} disabled={!!noWorkspace} onClick={() => save.mutate()}>
          Save
        </Button>
      </DialogButtons>
    </Stack>
  )
}

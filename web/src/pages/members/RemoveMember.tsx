import { Checkbox, List, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keysOfUserQuery } from '../../api/keys'
import { type Member, membersQuery, removeMember } from '../../api/members'
import { useOrganization } from '../../api/session'
import { ConfirmByTyping } from '../../ui/ConfirmByTyping'
import { Loaded } from '../../ui/Loaded'
import { usableKeys } from './roles'

type Props = { member: Member | undefined; onClose: () => void }

/** Removes a member, and on request revokes the keys they created. */
export function RemoveMember({ member, onClose }: Props) {
  const organization = useOrganization()
  const queries = useQueryClient()
  const [withKeys, setWithKeys] = useState(false)
  const remove = useMutation({
    mutationFn: (one: Member) => removeMember(organization.id, one.userId, withKeys),
    onSuccess: () => close(),
    onSettled: () => {
      void queries.invalidateQueries(membersQuery(organization.id))
      void queries.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  const close = () => {
    remove.reset()
    setWithKeys(false)
    onClose()
  }
  return (
    <ConfirmByTyping
      opened={!!member}
      onClose={close}
      title="Remove member"
      expected={member?.email ?? ''}
      action="Remove member"
      onConfirm={() => member && remove.mutate(member)}
      isPending={remove.isPending}
      error={remove.error}
    >
      <Stack gap="sm">
        <Text>They immediately lose access to {organization.name} and all its workspaces.</Text>
        {member ? <Keys userId={member.userId} withKeys={withKeys} onChange={setWithKeys} /> : null}
      </Stack>
    </ConfirmByTyping>
  )
}

type KeysProps = { userId: string; withKeys: boolean; onChange: (withKeys: boolean) => void }

/** The keys that the member created, of all workspaces, and whether they end, too. */
function Keys({ userId, withKeys, onChange }: KeysProps) {
  const organization = useOrganization()
  const keys = useQuery(keysOfUserQuery(organization.id, userId))
  return (
    <Loaded query={keys} skeleton={<Skeleton h={48} />} errorTitle="Their keys could not be loaded">
      {(all) => {
        const usable = usableKeys(all)
        if (usable.length === 0) return <Text>They created no keys that are in use.</Text>
        return (
          <>
            <Text>Programs that use the keys they created keep working unless you revoke the keys:</Text>
            <List size="sm">
              {usable.map((key) => (
                <List.Item key={key.id}>
                  {key.name} ({key.prefix})
                </List.Item>
              ))}
            </List>
            <Checkbox
              label="Revoke their keys"
              checked={withKeys}
              onChange={(event) => onChange(event.currentTarget.checked)}
            />
          </>
        )
      }}
    </Loaded>
  )
}

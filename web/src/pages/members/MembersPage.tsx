import { Button, Tabs } from '@mantine/core'
import { IconMail, IconUserPlus, IconUsers } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { membersQuery } from '../../api/members'
import { useOrganization, useSessionContext } from '../../api/session'
import { oneOf } from '../../ui/filters'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { TableSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { Invitations } from './Invitations'
import { Invite } from './Invite'
import { MembersTable } from './MembersTable'

const FILTERS = { tab: oneOf(['members', 'invitations']) }

export function MembersPage() {
  const organization = useOrganization()
  const { isAdmin } = useSessionContext()
  const members = useQuery(membersQuery(organization.id))
  const [{ tab }, change] = useFilters(FILTERS)
  const [isInviting, setInviting] = useState(false)
  const inviteButton = (
    <Button leftSection={<IconUserPlus size={16} />} onClick={() => setInviting(true)}>
      Invite
    </Button>
  )
  const list = (
    <Loaded query={members} skeleton={<TableSkeleton />} errorTitle="The members could not be loaded">
      {(all) => <MembersTable members={all} />}
    </Loaded>
  )
  return (
    <>
      <PageHeader
        title="Members"
        description={`Members of ${organization.name} and their workspaces`}
        actions={isAdmin ? inviteButton : null}
      />
      {isAdmin ? (
        <Tabs
          value={tab}
          keepMounted={false}
          onChange={(value) => change({ tab: value === 'invitations' ? value : 'members' })}
        >
          <Tabs.List mb="md" aria-label="People">
            <Tabs.Tab value="members" leftSection={<IconUsers size={16} />}>
              Members
            </Tabs.Tab>
            <Tabs.Tab value="invitations" leftSection={<IconMail size={16} />}>
              Invitations
            </Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="members">{list}</Tabs.Panel>
          <Tabs.Panel value="invitations">
            <Invitations organizationId={organization.id} inviteButton={inviteButton} />
          </Tabs.Panel>
        </Tabs>
      ) : (
        list
      )}
      {isAdmin ? (
        <Invite opened={isInviting} organizationId={organization.id} onClose={() => setInviting(false)} />
      ) : null}
    </>
  )
}

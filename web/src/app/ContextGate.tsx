import { Button } from '@mantine/core'
import { IconBuilding, IconLayoutGrid } from '@tabler/icons-react'
import { useMatches } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Place, usePlace } from '../api/session'
import { EmptyState } from '../ui/EmptyState'
import { PageHeader } from '../ui/PageHeader'
import { useChooseContext } from './context'
import { missingFor } from './missing'
import { NameForm } from './NameForm'
import { useNewOrganization, useNewWorkspace } from './new-place'

const ICON = 32

/** Shows a page only where it can be of use; otherwise what has to be chosen, made or asked for first. */
export function ContextGate({ children }: { children: ReactNode }) {
  const place = usePlace()
  const staticData = useMatches({ select: (matches) => matches.at(-1)?.staticData })
  const missing = missingFor(staticData?.needs, place)
  if (!missing) return children
  return (
    <>
      <PageHeader title={staticData?.title ?? 'Forebay'} />
      {missing === 'organization' ? <NoOrganization place={place} /> : <NoWorkspace place={place} />}
    </>
  )
}

function NoOrganization({ place }: { place: Place }) {
  const choose = useChooseContext()
  const create = useNewOrganization()
  const known = place.session.organizations
  if (known.length > 0) {
    const actions = known.map((one) => (
      <Button
        key={one.id}
        variant="default"
        onClick={() => choose.mutate({ organizationId: one.id, workspaceId: null })}
      >
        {one.name}
      </Button>
    ))
    return (
      <EmptyState title="Choose an organization" icon={<IconBuilding size={ICON} />} actions={actions}>
        Everything here belongs to an organization. You can change it later at the top of the navigation.
      </EmptyState>
    )
  }
  if (place.isOperator) {
    return (
      <EmptyState
        title="Create an organization"
        icon={<IconBuilding size={ICON} />}
        actions={<NameForm label="Name of the organization" action="Create organization" mutation={create} />}
      >
        There is none that you belong to. An organization holds members, workspaces and GPU allotments.
      </EmptyState>
    )
  }
  return (
    <EmptyState title="You belong to no organization" icon={<IconBuilding size={ICON} />}>
      Ask an administrator for an invitation, and open its link in this browser.
    </EmptyState>
  )
}

function NoWorkspace({ place }: { place: Place }) {
  const choose = useChooseContext()
  const create = useNewWorkspace()
  const organizationId = place.organization?.id
  const known = place.session.workspaces.filter((one) => one.organizationId === organizationId)
  if (known.length > 0) {
    const actions = known.map((one) => (
      <Button key={one.id} variant="default" onClick={() => choose.mutate({ organizationId, workspaceId: one.id })}>
        {one.name}
      </Button>
    ))
    return (
      <EmptyState title="Choose a workspace" icon={<IconLayoutGrid size={ICON} />} actions={actions}>
        Keys, endpoints, usage and limits belong to a workspace. You can change it later at the top of the navigation.
      </EmptyState>
    )
  }
  if (place.isAdmin) {
    return (
      <EmptyState
        title="Create the first workspace"
        icon={<IconLayoutGrid size={ICON} />}
        actions={<NameForm label="Name of the workspace" action="Create workspace" mutation={create} />}
      >
        Keys, endpoints, usage and limits belong to a workspace, and {place.organization?.name} has none yet.
      </EmptyState>
    )
  }
  return (
    <EmptyState title="You are in no workspace yet" icon={<IconLayoutGrid size={ICON} />}>
      Ask an administrator of {place.organization?.name} to add you to one.
    </EmptyState>
  )
}

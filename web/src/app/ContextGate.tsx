import { Button } from '@mantine/core'
import { IconBuilding, IconLayoutGrid } from '@tabler/icons-react'
import { useMatches } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type SessionContext, useSessionContext } from '../api/session'
import { EmptyState } from '../ui/EmptyState'
import { PageHeader } from '../ui/PageHeader'
import { useChooseContext } from './context'
import { missingContext } from './missing-context'
import { NameForm } from './NameForm'
import { useNewOrganization, useNewWorkspace } from './new-context'

const ICON = 32

/** Shows a page once the organization or workspace it needs is selected; otherwise explains how to get one. */
export function ContextGate({ children }: { children: ReactNode }) {
  const context = useSessionContext()
  const staticData = useMatches({ select: (matches) => matches.at(-1)?.staticData })
  const missing = missingContext(staticData?.needs, context)
  if (!missing) return children
  return (
    <>
      <PageHeader title={staticData?.title ?? 'Forebay'} />
      {missing === 'organization' ? <NoOrganization context={context} /> : <NoWorkspace context={context} />}
    </>
  )
}

function NoOrganization({ context }: { context: SessionContext }) {
  const choose = useChooseContext()
  const create = useNewOrganization()
  const available = context.session.organizations
  if (available.length > 0) {
    const actions = available.map((one) => (
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
        Everything here belongs to an organization. You can switch later at the top of the navigation.
      </EmptyState>
    )
  }
  if (context.isOperator) {
    return (
      <EmptyState
        title="Create an organization"
        icon={<IconBuilding size={ICON} />}
        actions={<NameForm label="Organization name" action="Create organization" mutation={create} />}
      >
        You do not belong to an organization yet. An organization holds members, workspaces and GPU allotments.
      </EmptyState>
    )
  }
  return (
    <EmptyState title="You are not in an organization" icon={<IconBuilding size={ICON} />}>
      Ask an administrator for an invitation and open its link in this browser.
    </EmptyState>
  )
}

function NoWorkspace({ context }: { context: SessionContext }) {
  const choose = useChooseContext()
  const create = useNewWorkspace()
  const organizationId = context.organization?.id
  const available = context.session.workspaces.filter((one) => one.organizationId === organizationId)
  if (available.length > 0) {
    const actions = available.map((one) => (
      <Button key={one.id} variant="default" onClick={() => choose.mutate({ organizationId, workspaceId: one.id })}>
        {one.name}
      </Button>
    ))
    return (
      <EmptyState title="Choose a workspace" icon={<IconLayoutGrid size={ICON} />} actions={actions}>
        Keys, endpoints, usage and limits belong to a workspace. You can switch later at the top of the navigation.
      </EmptyState>
    )
  }
  if (context.isAdmin) {
    return (
      <EmptyState
        title="Create the first workspace"
        icon={<IconLayoutGrid size={ICON} />}
        actions={<NameForm label="Workspace name" action="Create workspace" mutation={create} />}
      >
        Keys, endpoints, usage and limits belong to a workspace, and {context.organization?.name} has none yet.
      </EmptyState>
    )
  }
  return (
    <EmptyState title="You are not in a workspace yet" icon={<IconLayoutGrid size={ICON} />}>
      Ask an administrator of {context.organization?.name} to add you to one.
    </EmptyState>
  )
}

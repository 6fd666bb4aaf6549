import { Tabs } from '@mantine/core'
import { IconGauge, IconLayoutGrid, IconUserCircle, IconUsers } from '@tabler/icons-react'
import { useSessionContext } from '../../api/session'
import { oneOf } from '../../ui/filters'
import { PageHeader } from '../../ui/PageHeader'
import { useFilters } from '../../ui/useFilters'
import { AccountTab } from './AccountTab'
import { EndUsersTab } from './end-users/EndUsersTab'
import { WorkspacesTab } from './WorkspacesTab'
import { WorkspaceTab } from './WorkspaceTab'

const TABS = ['workspace', 'end-users', 'workspaces', 'account'] as const
const FILTERS = { tab: oneOf(TABS) }

export function SettingsPage() {
  const [{ tab }, change] = useFilters(FILTERS)
  const { isAdmin, organization, workspace } = useSessionContext()
  const hasWorkspaces = isAdmin && organization !== undefined
  const isShown = tab === 'workspaces' ? hasWorkspaces : tab !== 'end-users' || workspace !== undefined
  return (
    <>
      <PageHeader title="Settings" description="Limits of the workspace, and your account" />
      <Tabs
        value={isShown ? tab : 'workspace'}
        keepMounted={false}
        onChange={(value) => change({ tab: TABS.find((one) => one === value) ?? 'workspace' })}
      >
        <Tabs.List mb="md" aria-label="Settings">
          <Tabs.Tab value="workspace" leftSection={<IconGauge size={16} />}>
            Limits and quota
          </Tabs.Tab>
          {workspace ? (
            <Tabs.Tab value="end-users" leftSection={<IconUsers size={16} />}>
              End users
            </Tabs.Tab>
          ) : null}
          {hasWorkspaces ? (
            <Tabs.Tab value="workspaces" leftSection={<IconLayoutGrid size={16} />}>
              Workspaces
            </Tabs.Tab>
          ) : null}
          <Tabs.Tab value="account" leftSection={<IconUserCircle size={16} />}>
            Your account
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="workspace">
          <WorkspaceTab />
        </Tabs.Panel>
        {workspace ? (
          <Tabs.Panel value="end-users">
            <EndUsersTab />
          </Tabs.Panel>
        ) : null}
        {hasWorkspaces ? (
          <Tabs.Panel value="workspaces">
            <WorkspacesTab />
          </Tabs.Panel>
        ) : null}
        <Tabs.Panel value="account">
          <AccountTab />
        </Tabs.Panel>
      </Tabs>
    </>
  )
}

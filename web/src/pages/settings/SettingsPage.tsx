import { Tabs } from '@mantine/core'
import { IconGauge, IconUserCircle } from '@tabler/icons-react'
import { oneOf } from '../../ui/filters'
import { PageHeader } from '../../ui/PageHeader'
import { useFilters } from '../../ui/useFilters'
import { AccountTab } from './AccountTab'
import { WorkspaceTab } from './WorkspaceTab'

const FILTERS = { tab: oneOf(['workspace', 'account']) }

export function SettingsPage() {
  const [{ tab }, change] = useFilters(FILTERS)
  return (
    <>
      <PageHeader title="Settings" description="Limits of the workspace, and your account" />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) => change({ tab: value === 'account' ? value : 'workspace' })}
      >
        <Tabs.List mb="md" aria-label="Settings">
          <Tabs.Tab value="workspace" leftSection={<IconGauge size={16} />}>
            Limits and quota
          </Tabs.Tab>
          <Tabs.Tab value="account" leftSection={<IconUserCircle size={16} />}>
            Your account
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="workspace">
          <WorkspaceTab />
        </Tabs.Panel>
        <Tabs.Panel value="account">
          <AccountTab />
        </Tabs.Panel>
      </Tabs>
    </>
  )
}

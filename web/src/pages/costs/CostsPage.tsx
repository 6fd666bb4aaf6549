import { Button, Menu, Select } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { costFiles, costsQuery } from '../../api/costs'
import { useOrganization, useSessionContext, useWorkspace } from '../../api/session'
import { type Filter, oneOf } from '../../ui/filters'
import { Loaded } from '../../ui/Loaded'
import { isMonth, monthOf, monthsUpTo, spanOf } from '../../ui/months'
import { PageHeader } from '../../ui/PageHeader'
import { PanelSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { ByEndUser } from './ByEndUser'
import { ByKey } from './ByKey'
import { ByLabel } from './ByLabel'
import { ByModel } from './ByModel'
import { CachingPanel } from './CachingPanel'
import classes from './Costs.module.css'
import { CostsByDay } from './CostsByDay'
import { DedicatedCosts } from './DedicatedCosts'
import { MonthlyBudgetPanel } from './MonthlyBudgetPanel'
import { MonthlyQuotaPanel } from './MonthlyQuotaPanel'
import { Totals } from './Totals'

const MONTHS = 13
const month: Filter<string> = { fallback: '', accepts: isMonth }
export const FILTERS = { month, by: oneOf(['kind', 'model']), scope: oneOf(['workspace', 'organization']) }

export function CostsPage() {
  const workspace = useWorkspace()
  const organization = useOrganization()
  const { isAdmin } = useSessionContext()
  const [filters, change] = useFilters(FILTERS)
  const current = monthOf(Date.now())
  const shown = filters.month && filters.month <= current ? filters.month : current
  const costs = useQuery(costsQuery(workspace.id, shown))
  const span = spanOf(shown)
  return (
    <>
      <PageHeader
        title="Costs"
        description={`Usage and costs of ${workspace.name} by calendar month (UTC)`}
        actions={
          <>
            <Select
              aria-label="Month"
              allowDeselect={false}
              w={180}
              data={monthsUpTo(Date.now(), MONTHS)}
              value={shown}
              onChange={(value) => change({ month: !value || value === current ? '' : value })}
            />
            <Downloads workspaceId={workspace.id} organizationId={organization.id} month={shown} />
          </>
        }
      />
      <div className={classes.stack}>
        <Loaded query={costs} skeleton={<PanelSkeleton />} errorTitle="The costs could not be loaded">
          {(data) => (
            <>
              <Totals costs={data} isCurrent={shown === current} />
              {shown === current && data.budget ? <MonthlyBudgetPanel budget={data.budget} /> : null}
              <CostsByDay costs={data} workspaceId={workspace.id} by={filters.by} onBy={(by) => change({ by })} />
            </>
          )}
        </Loaded>
        {shown === current ? <MonthlyQuotaPanel workspaceId={workspace.id} /> : null}
        <CachingPanel workspaceId={workspace.id} span={span} />
        <div className={classes.columns}>
          <ByModel workspaceId={workspace.id} span={span} />
          <ByKey workspaceId={workspace.id} organizationId={organization.id} span={span} />
          <ByLabel workspaceId={workspace.id} span={span} />
          <ByEndUser workspaceId={workspace.id} span={span} />
        </div>
        <DedicatedCosts
          workspace={workspace}
          organizationId={organization.id}
          span={span}
          scope={isAdmin ? filters.scope : 'workspace'}
          onScope={isAdmin ? (scope) => change({ scope }) : undefined}
        />
      </div>
    </>
  )
}

type DownloadsProps = { workspaceId: string; organizationId: string; month: string }

function Downloads({ workspaceId, organizationId, month }: DownloadsProps) {
  const span = spanOf(month)
  const files = [
    ['Costs by day', costFiles.costs(workspaceId, month)],
    ['Usage by day, model and key', costFiles.usage(workspaceId, span, 'day,model,key')],
    ['GPU-hours by endpoint and day', costFiles.gpuCosts(organizationId, span, 'day,endpoint,gpuType')],
    ['Invoice lines', costFiles.invoice(workspaceId, month)],
  ] as const
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} />}>
          Download CSV
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {files.map(([name, href]) => (
          <Menu.Item key={name} component="a" href={href} download>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

import { Anchor, Button } from '@mantine/core'
import { IconBuilding, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { type Consumer, isComplete, organizationsUsageQuery } from '../../../api/operator/installation'
import { type OperatorOrganization, organizationTableQuery } from '../../../api/operator/organizations'
import { useTable } from '../../../api/pages'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { oneOf, text } from '../../../ui/filters'
import { formatCompact, formatCount, formatDay, formatMoney } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { SearchField } from '../../../ui/SearchField'
import { TableSkeleton } from '../../../ui/Skeletons'
import { Time } from '../../../ui/Time'
import { Toolbar } from '../../../ui/Toolbar'
import { useFilters } from '../../../ui/useFilters'
import { monthStart, tokensOf, usageOf } from './month-usage'
import { NewTenant } from './NewTenant'

const SORTS = ['name', '-name', 'members', '-members', 'workspaces', '-workspaces', 'createdAt', '-createdAt'] as const
const FILTERS = { q: text(), sort: oneOf(SORTS) }

export function OrganizationsPage() {
  return (
    <OperatorsOnly title="Organizations">
      <Organizations />
    </OperatorsOnly>
  )
}

function Organizations() {
  const [{ q, sort }, change] = useFilters(FILTERS)
  const organizations = useTable(organizationTableQuery({ search: q, sort }))
  const search = useCallback((typed: string) => change({ q: typed }), [change])
  const usage = useQuery(organizationsUsageQuery(monthStart()))
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <PageHeader
        title="Organizations"
        description="Tenants of this installation, with their people and GPU allotments"
        actions={
          <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
            New organization
          </Button>
        }
      />
      <Toolbar>
        <SearchField label="Search organizations" placeholder="Name or id" value={q} onChange={search} />
      </Toolbar>
      <Loaded query={organizations} skeleton={<TableSkeleton />} errorTitle="The organizations could not be loaded">
        {(table) =>
          table.rows.length === 0 ? (
            <EmptyState title={q ? 'No organization matches' : 'No organizations'} icon={<IconBuilding size={32} />}>
              {q ? 'Try a part of its name.' : 'An organization holds members, workspaces and GPU allotments.'}
            </EmptyState>
          ) : (
            <DataTable
              caption="Organizations"
              columns={columnsOf(usage.data)}
              rows={table}
              rowKey={(one) => one.id}
              sort={sort}
              onSort={(next) => change({ sort: SORTS.find((one) => one === next) ?? SORTS[0] })}
              minWidth={640}
            />
          )
        }
      </Loaded>
      <NewTenant opened={isCreating} onClose={() => setCreating(false)} />
    </>
  )
}

const columnsOf = (usage: readonly Consumer[] | undefined): Column<OperatorOrganization>[] => [
  {
    id: 'name',
    header: 'Name',
    sortBy: 'server',
    cell: (one) => (
      <Anchor component={Link} href={paths.operatorOrganization(one.id)} fw={550}>
        {one.name}
      </Anchor>
    ),
  },
  {
    id: 'members',
    header: 'Members',
    align: 'right',
    sortBy: 'server',
    cell: (one) => formatCount(one.members),
  },
  {
    id: 'workspaces',
    header: 'Workspaces',
    align: 'right',
    sortBy: 'server',
    cell: (one) => formatCount(one.workspaces),
  },
  {
    id: 'gpus',
    header: 'GPUs committed',
    cell: (one) =>
      one.allotments.map(({ gpuType, committed, allotment }) => `${committed} of ${allotment} ${gpuType}`).join(', ') ||
      'none allotted',
  },
  ...usageColumns(usage),
  { id: 'createdAt', header: 'Created', sortBy: 'server', cell: (one) => <Time value={one.createdAt} /> },
]

/** What organizations used this month. */
function usageColumns(usage: readonly Consumer[] | undefined): Column<OperatorOrganization>[] {
  const column = (id: string, header: string, cell: (line: Consumer) => string, none: string) => ({
    id,
    header,
    align: 'right' as const,
    cell: (one: OperatorOrganization) => {
      const line = usageOf(usage, one.id)
      if (line) return cell(line)
      if (!usage) return '…'
      return isComplete(usage) ? none : '–'
    },
  })
  return [
    column('tokens', 'Tokens this month', (line) => formatCompact(tokensOf(line)), '0'),
    column('cost', 'Cost this month', (line) => formatMoney(line.costUsd), '$0.00'),
    column('last', 'Last used', (line) => formatDay(line.lastDay), 'not this month'),
  ]
}

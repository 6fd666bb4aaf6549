import { Anchor, Button } from '@mantine/core'
import { IconBuilding, IconPlus } from '@tabler/icons-react'
import { useCallback, useState } from 'react'
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
import { NewTenant } from './NewTenant'

const SORTS = [
  'name',
  '-name',
  'members',
  '-members',
  'workspaces',
  '-workspaces',
  'requests',
  '-requests',
  'tokens',
  '-tokens',
  'cost',
  '-cost',
  'createdAt',
  '-createdAt',
] as const
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
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <PageHeader
        title="Organizations"
        description="Tenants of this installation: their people, their GPU allotments, and their calls, tokens and costs of this month"
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
              columns={COLUMNS}
              rows={table}
              rowKey={(one) => one.id}
              sort={sort}
              onSort={(next) => change({ sort: SORTS.find((one) => one === next) ?? SORTS[0] })}
              minWidth={880}
            />
          )
        }
      </Loaded>
      <NewTenant opened={isCreating} onClose={() => setCreating(false)} />
    </>
  )
}

/** What an organization used this month; a node that is not upgraded yet does not say it. */
const usageColumn = (
  id: string,
  header: string,
  figure: (usage: OperatorOrganization['usage']) => string,
  sortBy?: 'server',
): Column<OperatorOrganization> => ({
  id,
  header,
  align: 'right',
  sortBy,
  cell: ({ usage }) => (usage ? figure(usage) : '–'),
})

const COLUMNS: Column<OperatorOrganization>[] = [
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
  usageColumn('requests', 'Calls', ({ requests }) => formatCompact(requests), 'server'),
  usageColumn('tokens', 'Tokens', ({ tokens }) => formatCompact(tokens), 'server'),
  usageColumn('cost', 'Cost', ({ costUsd }) => formatMoney(costUsd), 'server'),
  usageColumn('last', 'Last used', ({ lastDay }) => (lastDay ? formatDay(lastDay) : 'not this month')),
  { id: 'createdAt', header: 'Created', sortBy: 'server', cell: (one) => <Time value={one.createdAt} /> },
]

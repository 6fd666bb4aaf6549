import { Anchor, Button } from '@mantine/core'
import { IconBuilding, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Consumer, organizationsUsageQuery } from '../../../api/operator/installation'
import { type OperatorOrganization, organizationsQuery } from '../../../api/operator/organizations'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { formatCompact, formatCount, formatDay, formatMoney } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { TableSkeleton } from '../../../ui/Skeletons'
import { Time } from '../../../ui/Time'
import { monthStart, tokensOf, usageOf } from './month-usage'
import { NewTenant } from './NewTenant'

export function OrganizationsPage() {
  return (
    <OperatorsOnly title="Organizations">
      <Organizations />
    </OperatorsOnly>
  )
}

function Organizations() {
  const organizations = useQuery(organizationsQuery)
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
      <Loaded query={organizations} skeleton={<TableSkeleton />} errorTitle="The organizations could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No organizations" icon={<IconBuilding size={32} />}>
              An organization holds members, workspaces and GPU allotments.
            </EmptyState>
          ) : (
            <DataTable
              caption="Organizations"
              columns={columnsOf(usage.data)}
              rows={all}
              rowKey={(one) => one.id}
              minWidth={640}
              find={{ label: 'Find organizations', text: ({ name, id }) => `${name} ${id}` }}
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
    sortBy: ({ name }) => name.toLowerCase(),
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
    sortBy: (one) => one.members,
    cell: (one) => formatCount(one.members),
  },
  { id: 'workspaces', header: 'Workspaces', align: 'right', cell: (one) => formatCount(one.workspaces) },
  {
    id: 'gpus',
    header: 'GPUs committed',
    cell: (one) =>
      one.allotments.map(({ gpuType, committed, allotment }) => `${committed} of ${allotment} ${gpuType}`).join(', ') ||
      'none allotted',
  },
  ...usageColumns(usage),
  { id: 'created', header: 'Created', sortBy: (one) => one.createdAt, cell: (one) => <Time value={one.createdAt} /> },
]

/** What organizations used this month. */
function usageColumns(usage: readonly Consumer[] | undefined): Column<OperatorOrganization>[] {
  const column = (id: string, header: string, cell: (line: Consumer) => string, none: string) => ({
    id,
    header,
    align: 'right' as const,
    cell: (one: OperatorOrganization) => {
      const line = usageOf(usage, one.id)
      return line ? cell(line) : usage ? none : '…'
    },
  })
  return [
    column('tokens', 'Tokens this month', (line) => formatCompact(tokensOf(line)), '0'),
    column('cost', 'Cost this month', (line) => formatMoney(line.costUsd), '$0.00'),
    column('last', 'Last used', (line) => formatDay(line.lastDay), 'not this month'),
  ]
}

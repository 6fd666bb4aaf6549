import { ActionIcon, Badge, Button, Group, Stack, Text, Tooltip } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { costsQuery } from '../../api/costs'
import { keyCountsQuery } from '../../api/keys'
import { useOrganization, useSessionContext } from '../../api/session'
import { type Workspace, workspacesQuery } from '../../api/workspaces'
import { NewWorkspaceDialog } from '../../app/NewWorkspaceDialog'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCount, formatMoney } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { monthOf } from '../../ui/months'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'
import { MonthlyBudgetPanel } from '../costs/MonthlyBudgetPanel'
import { DeleteWorkspace } from './DeleteWorkspace'
import { OrganizationBounds } from './OrganizationBounds'
import { OrganizationBudget } from './OrganizationBudget'
import { whyNotDeleted } from './workspaces'

/** The workspaces of the organization with limits, keys and spend, for administrators. */
export function WorkspacesTab() {
  const organization = useOrganization()
  const { workspace: current } = useSessionContext()
  const workspaces = useQuery(workspacesQuery(organization.id))
  const [deleted, setDeleted] = useState<Workspace>()
  const [isCreating, creating] = useDisclosure(false)
  const all = workspaces.data ?? []
  const month = monthOf(Date.now())
  const costs = useQueries({ queries: all.map(({ id }) => costsQuery(id, month)) })
  const counts = useQueries({
    queries: all.map(({ id }) => ({ ...keyCountsQuery(id), refetchInterval: false as const })),
  })
  const keysOf = (one: Workspace) => counts[all.indexOf(one)]?.data?.counted
  const columns: Column<Workspace>[] = [
    {
      id: 'name',
      header: 'Name',
      cell: (one) => (
        <Group gap="xs">
          {one.name}
          {one.id === current?.id ? (
            <Badge variant="light" size="sm">
              current
            </Badge>
          ) : null}
        </Group>
      ),
    },
    {
      id: 'limits',
      header: 'Limits',
      cell: (one) => (
        <Text span size="sm">
          {formatCount(one.requestsPerMinute)} requests/min, {formatCount(one.tokensPerMinute)} tokens/min,{' '}
          {formatCount(one.monthlyTokens)} tokens/month
        </Text>
      ),
    },
    {
      id: 'keys',
      header: 'Keys in use',
      align: 'right',
      cell: (one) => {
        const keys = keysOf(one)
        return keys === undefined ? null : `${formatCount(keys)} of ${formatCount(one.maxApiKeys)}`
      },
    },
    {
      id: 'spend',
      header: 'This month',
      align: 'right',
      cell: (one) => {
        const cost = costs[all.indexOf(one)]?.data
        const bound = one.monthlyUsd ? ` of ${formatMoney(one.monthlyUsd)}` : ''
        return cost && `${formatMoney(cost.total.costUsd)}${bound}`
      },
    },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (one) => {
        const reason = whyNotDeleted(one, all, current?.id)
        return (
          <Tooltip label={reason ?? 'Delete'}>
            <ActionIcon
              variant="subtle"
              color="gray"
              c="dimmed"
              aria-label={`Delete ${one.name}`}
              aria-disabled={!!reason}
              data-disabled={reason ? true : undefined}
              onClick={() => reason || setDeleted(one)}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Tooltip>
        )
      },
    },
  ]
  const shared = costs.find(({ data }) => data?.budget?.ofOrganization)?.data?.budget
  return (
    <Stack gap="md">
      <Panel
        title={`Workspaces of ${organization.name}`}
        description="Keys, endpoints, usage and limits belong to a workspace"
        actions={
          <Button leftSection={<IconPlus size={16} />} onClick={creating.open}>
            New workspace
          </Button>
        }
      >
        <Loaded
          query={workspaces}
          skeleton={<TableSkeleton rows={3} />}
          errorTitle="The workspaces could not be loaded"
        >
          {(rows) => (
            <DataTable caption="Workspaces" columns={columns} rows={rows} rowKey={(one) => one.id} minWidth={720} />
          )}
        </Loaded>
        <NewWorkspaceDialog opened={isCreating} onClose={creating.close} />
        <DeleteWorkspace
          workspace={deleted}
          keyCount={(deleted && keysOf(deleted)) ?? 0}
          onClose={() => setDeleted(undefined)}
        />
      </Panel>
      <OrganizationBounds organizationId={organization.id} workspaces={all.length} />
      <OrganizationBudget key={organization.id} organizationId={organization.id} />
      {shared ? <MonthlyBudgetPanel budget={shared} /> : null}
    </Stack>
  )
}

import { Anchor, Button, Modal } from '@mantine/core'
import { IconBuilding, IconPlus } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type OperatorOrganization,
  organizationsQuery,
  refreshOrganizations,
} from '../../../api/operator/organizations'
import { createOrganization } from '../../../api/organizations'
import { NameForm } from '../../../app/NameForm'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { type Column, DataTable } from '../../../ui/DataTable'
import { EmptyState } from '../../../ui/EmptyState'
import { formatCount } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { TableSkeleton } from '../../../ui/Skeletons'
import { Time } from '../../../ui/Time'

export function OrganizationsPage() {
  return (
    <OperatorsOnly title="Organizations">
      <Organizations />
    </OperatorsOnly>
  )
}

function Organizations() {
  const organizations = useQuery(organizationsQuery)
  const queries = useQueryClient()
  const [isCreating, setCreating] = useState(false)
  const create = useMutation({
    mutationFn: createOrganization,
    onSuccess: () => setCreating(false),
    onSettled: () => refreshOrganizations(queries),
  })
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
            <DataTable caption="Organizations" columns={COLUMNS} rows={all} rowKey={(one) => one.id} minWidth={640} />
          )
        }
      </Loaded>
      <Modal
        opened={isCreating}
        onClose={() => {
          create.reset()
          setCreating(false)
        }}
        title="New organization"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <NameForm label="Name" action="Create organization" mutation={create} />
      </Modal>
    </>
  )
}

const COLUMNS: Column<OperatorOrganization>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: (one) => (
      <Anchor component={Link} href={paths.operatorOrganization(one.id)} fw={550}>
        {one.name}
      </Anchor>
    ),
  },
  { id: 'members', header: 'Members', align: 'right', cell: (one) => formatCount(one.members) },
  { id: 'workspaces', header: 'Workspaces', align: 'right', cell: (one) => formatCount(one.workspaces) },
  {
    id: 'gpus',
    header: 'GPUs committed',
    cell: (one) =>
      one.allotments.map(({ gpuType, committed, allotment }) => `${committed} of ${allotment} ${gpuType}`).join(', ') ||
      'none allotted',
  },
  { id: 'created', header: 'Created', cell: (one) => <Time value={one.createdAt} /> },
]

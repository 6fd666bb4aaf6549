import { Button, Modal, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApiForm } from '../../../api/form'
import {
  changeAnyWorkspace,
  createWorkspaceOf,
  organizationWorkspacesQuery,
  refreshOrganizations,
  type Workspace,
} from '../../../api/operator/organizations'
import { NameForm } from '../../../app/NameForm'
import { type Column, DataTable } from '../../../ui/DataTable'
import { DialogButtons } from '../../../ui/DialogButtons'
import { formatCount, formatMoney } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import { Panel } from '../../../ui/Panel'
import { SaveError } from '../../../ui/SaveError'
import { TableSkeleton } from '../../../ui/Skeletons'
import { LIMITS, limitsEdit, limitsOf } from './workspace-limits'

/** The workspaces of an organization, with the effective limits. */
export function Workspaces({ organizationId }: { organizationId: string }) {
  const workspaces = useQuery(organizationWorkspacesQuery(organizationId))
  const [edited, setEdited] = useState<Workspace>()
  const columns: Column<Workspace>[] = [
    { id: 'name', header: 'Workspace', cell: ({ name }) => name },
    ...LIMITS.map(
      ({ name, header }): Column<Workspace> => ({
        id: name,
        header,
        align: 'right',
        cell: (workspace) => formatCount(workspace[name]),
      }),
    ),
    {
      id: 'monthlyUsd',
      header: 'USD/month',
      align: 'right',
      cell: ({ monthlyUsd }) => (monthlyUsd ? formatMoney(monthlyUsd) : 'no budget'),
    },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (workspace) => (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Change limits of ${workspace.name}`}
          onClick={() => setEdited(workspace)}
        >
          Change limits
        </Button>
      ),
    },
  ]
  const close = () => setEdited(undefined)
  const [isCreating, setCreating] = useState(false)
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: (name: string) => createWorkspaceOf(organizationId, name),
    onSuccess: () => setCreating(false),
    onSettled: () => refreshOrganizations(queries),
  })
  return (
    <Panel
      title="Workspaces"
      description="Effective limits. Administrators can lower theirs, not raise them"
      actions={
        <Button size="xs" variant="default" onClick={() => setCreating(true)}>
          New workspace
        </Button>
      }
    >
      <Loaded query={workspaces} skeleton={<TableSkeleton rows={2} />} errorTitle="The workspaces could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">This organization has no workspaces.</Text>
          ) : (
            <DataTable caption="Workspaces" columns={columns} rows={all} rowKey={({ id }) => id} minWidth={720} />
          )
        }
      </Loaded>
      <Modal
        opened={isCreating}
        onClose={() => {
          create.reset()
          setCreating(false)
        }}
        title="New workspace"
      >
        <NameForm label="Name" action="Create workspace" mutation={create} />
      </Modal>
      <Modal opened={!!edited} onClose={close} title={`Limits of ${edited?.name ?? ''}`}>
        {edited ? <LimitsForm organizationId={organizationId} workspace={edited} onClose={close} /> : null}
      </Modal>
    </Panel>
  )
}

type FormProps = { organizationId: string; workspace: Workspace; onClose: () => void }

function LimitsForm({ organizationId, workspace, onClose }: FormProps) {
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: { ...limitsOf(workspace), read: workspace },
    send: ({ read, ...limits }) => changeAnyWorkspace(workspace.id, limitsEdit(read, limits)),
    onSuccess: (saved) => {
      notifications.show({ title: 'Limits saved', message: `They apply to ${saved.name} from the next call.` })
      onClose()
    },
    onSettled: () => queries.invalidateQueries(organizationWorkspacesQuery(organizationId)),
  })
  const isEdited = Object.keys(limitsEdit(form.values.read, form.values)).length > 1
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          {LIMITS.map(({ name, label }) => (
            <OptionalNumber
              key={name}
              label={label}
              placeholder="Platform default"
              min={0}
              allowDecimal={false}
              allowNegative={false}
              thousandSeparator=","
              {...form.getInputProps(name)}
            />
          ))}
          <TextInput
            label="USD per month"
            placeholder="No budget"
            inputMode="decimal"
            autoComplete="off"
            leftSection="$"
            {...form.getInputProps('monthlyUsd')}
          />
          <OptionalNumber
            label="Weight"
            description="Its share of tokens while other workspaces wait, too"
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            placeholder="1"
            min={1}
            max={1000}
            allowDecimal={false}
            allowNegative={false}
            {...form.getInputProps('weight')}
          />
        </SimpleGrid>
        {error ? (
          <SaveError<Workspace>
            error={error}
            title="Could not save the limits"
            onLoad={(current) => {
              sending.reset()
              form.setValues({ ...limitsOf(current), read: current })
            }}
          />
        ) : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!isEdited}>
            Save
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

import { Button, Modal, Stack, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApiForm } from '../../../api/form'
import { type OperatorOrganization, refreshOrganizations, setAllotment } from '../../../api/operator/organizations'
import { type Column, DataTable } from '../../../ui/DataTable'
import { DialogButtons } from '../../../ui/DialogButtons'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { formatCount, formatShare } from '../../../ui/format'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import { Panel } from '../../../ui/Panel'

type Line = OperatorOrganization['allotments'][number]

/** GPUs that the organization may commit, by type. */
export function Allotments({ organization }: { organization: OperatorOrganization }) {
  const [edited, setEdited] = useState<Line>()
  const columns: Column<Line>[] = [
    { id: 'type', header: 'GPU type', cell: (line) => line.gpuType },
    { id: 'committed', header: 'Committed', align: 'right', cell: (line) => formatCount(line.committed) },
    { id: 'allotment', header: 'Allotment', align: 'right', cell: (line) => formatCount(line.allotment) },
    { id: 'share', header: 'Committed share', align: 'right', cell: (line) => formatShare(line.utilization) },
    {
      id: 'actions',
      header: 'Actions',
      isActions: true,
      cell: (line) => (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Change ${line.gpuType}`}
          onClick={() => setEdited(line)}
        >
          Change
        </Button>
      ),
    },
  ]
  return (
    <Panel title="GPU allotments" description="What dedicated endpoints of this organization may commit">
      {organization.allotments.length === 0 ? (
        <Text c="dimmed">No GPU type has an allotment. Defaults are in the configuration.</Text>
      ) : (
        <DataTable
          caption="Allotments"
          columns={columns}
          rows={organization.allotments}
          rowKey={(line) => line.gpuType}
          minWidth={480}
        />
      )}
      <Modal opened={!!edited} onClose={() => setEdited(undefined)} title={`Allotment of ${edited?.gpuType ?? ''}`}>
        {edited ? (
          <AllotmentForm organizationId={organization.id} line={edited} onClose={() => setEdited(undefined)} />
        ) : null}
      </Modal>
    </Panel>
  )
}

function AllotmentForm({ organizationId, line, onClose }: { organizationId: string; line: Line; onClose: () => void }) {
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: { allotment: line.allotment as number | undefined },
    send: ({ allotment }) => setAllotment(organizationId, line.gpuType, allotment ?? null),
    onSuccess: onClose,
    onSettled: () => refreshOrganizations(queries),
  })
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <OptionalNumber
          label="GPUs"
          description={`${formatCount(line.committed)} are committed now. A lower value stops no replica, but new ones`}
          placeholder="Platform default"
          data-autofocus
          min={0}
          allowDecimal={false}
          {...form.getInputProps('allotment')}
        />
        {error ? <ErrorPanel error={error} title="Could not save the allotment" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending}>
            Save
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

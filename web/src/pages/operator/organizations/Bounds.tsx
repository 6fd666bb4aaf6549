import { Button, Modal, SimpleGrid, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApiForm } from '../../../api/form'
import { boundOrganization, type OperatorOrganization, refreshOrganizations } from '../../../api/operator/organizations'
import { DialogButtons } from '../../../ui/DialogButtons'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Panel } from '../../../ui/Panel'
import { UseBar } from '../../../ui/UseBar'
import { onBudgetLabel } from '../../settings/on-budget'
import { BoundFields } from './BoundFields'
import { type BoundUse, boundsEdit, boundsOf, usesOf } from './organization-bounds'

/** What the organization may have at most, over all its workspaces, and what is used of it. */
export function Bounds({ organization }: { organization: OperatorOrganization }) {
  const [isChanging, setChanging] = useState(false)
  const close = () => setChanging(false)
  const uses = usesOf(organization)
  return (
    <Panel
      title="Limits of the organization"
      description="Over all its workspaces. Administrators see them and cannot change them"
      actions={
        <Button
          size="xs"
          variant="default"
          aria-label="Change limits of the organization"
          onClick={() => setChanging(true)}
        >
          Change limits
        </Button>
      }
    >
      <SimpleGrid component="ul" m={0} p={0} cols={{ base: 1, sm: 2, lg: 3 }} spacing="lg">
        {uses.map((use) => (
          <Use key={use.name} use={use} organization={organization} />
        ))}
      </SimpleGrid>
      <Modal opened={isChanging} onClose={close} size="lg" title={`Limits of ${organization.name}`}>
        <BoundsForm organization={organization} onClose={close} />
      </Modal>
    </Panel>
  )
}

function Use({ use, organization }: { use: BoundUse; organization: OperatorOrganization }) {
  const { name, label, used, note, share } = use
  const hasBudget = name === 'monthlyUsd' && share !== undefined
  return (
    <li style={{ listStyle: 'none' }}>
      <Text size="sm" fw={500} mb={4}>
        {label}
      </Text>
      {share === undefined ? (
        <Text size="sm" c="dimmed">
          {`${used}, ${note}`}
        </Text>
      ) : (
        <UseBar label={label} share={share} used={used} note={note} />
      )}
      {hasBudget ? (
        <Text size="sm" c="dimmed">
          When it is spent: {onBudgetLabel(organization.onBudget).toLowerCase()}
        </Text>
      ) : null}
    </li>
  )
}

function BoundsForm({ organization, onClose }: { organization: OperatorOrganization; onClose: () => void }) {
  const queries = useQueryClient()
  // Those that the form began with: what others change meanwhile is not changed back.
  const [before] = useState(() => boundsOf(organization))
  const { form, sending, submit, error } = useApiForm({
    initialValues: before,
    send: (bounds) => boundOrganization(organization.id, boundsEdit(before, bounds)),
    onSuccess: () => {
      notifications.show({ title: 'Limits saved', message: 'They apply from the next call.' })
      onClose()
    },
    onSettled: () => refreshOrganizations(queries),
  })
  const isEdited = Object.keys(boundsEdit(before, form.values)).length > 0
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <BoundFields form={form} />
        </SimpleGrid>
        {error ? <ErrorPanel error={error} title="Could not save the limits" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!isEdited}>
            Save
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}

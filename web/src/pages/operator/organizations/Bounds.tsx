import { Button, Group, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useApiForm } from '../../../api/form'
import { organizationsUsageQuery } from '../../../api/operator/installation'
import { boundOrganization, type OperatorOrganization, refreshOrganizations } from '../../../api/operator/organizations'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import { Panel } from '../../../ui/Panel'
import { monthStart, usageOf } from './month-usage'
import { boundsEdit, boundsOf, spentOf } from './organization-bounds'

/** What the organization may have at most, over all its workspaces. Its administrators see it. */
export function Bounds({ organization }: { organization: OperatorOrganization }) {
  const queries = useQueryClient()
  const usage = useQuery(organizationsUsageQuery(monthStart()))
  const { form, sending, submit, error } = useApiForm({
    initialValues: boundsOf(organization),
    send: (bounds) => boundOrganization(organization.id, boundsEdit(organization, bounds)),
    onSuccess: () => notifications.show({ title: 'Limits saved', message: 'They apply from the next call.' }),
    onSettled: () => refreshOrganizations(queries),
  })
  const isEdited = Object.keys(boundsEdit(organization, form.values)).length > 0
  return (
    <Panel
      title="Limits of the organization"
      description="Over all its workspaces. Administrators see them and cannot change them"
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Group align="flex-end" gap="sm">
            <OptionalNumber
              label="Workspaces"
              placeholder="Platform default"
              min={0}
              allowDecimal={false}
              allowNegative={false}
              thousandSeparator=","
              {...form.getInputProps('maxWorkspaces')}
            />
            <OptionalNumber
              label="Tokens per month"
              placeholder="No limit"
              min={0}
              allowDecimal={false}
              allowNegative={false}
              thousandSeparator=","
              {...form.getInputProps('monthlyTokens')}
            />
            <TextInput
              label="USD per month"
              description={spentOf(usage.data && (usageOf(usage.data, organization.id)?.costUsd ?? '0'), organization)}
              placeholder="No budget"
              inputMode="decimal"
              leftSection="$"
              {...form.getInputProps('monthlyUsd')}
            />
            <Button type="submit" loading={sending.isPending} disabled={!isEdited}>
              Save
            </Button>
          </Group>
          {error ? <ErrorPanel error={error} title="Could not save the limits" /> : null}
        </Stack>
      </form>
    </Panel>
  )
}

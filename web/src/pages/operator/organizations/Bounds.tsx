import { Button, Group, SimpleGrid, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useApiForm } from '../../../api/form'
import { organizationUsageQuery } from '../../../api/operator/installation'
import { boundOrganization, type OperatorOrganization, refreshOrganizations } from '../../../api/operator/organizations'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Panel } from '../../../ui/Panel'
import { BoundFields } from './BoundFields'
import { monthStart, usageOf } from './month-usage'
import { boundsEdit, boundsOf, usedOf } from './organization-bounds'

/** What the organization may have at most, over all its workspaces. Its administrators see it. */
export function Bounds({ organization }: { organization: OperatorOrganization }) {
  const queries = useQueryClient()
  const usage = useQuery(organizationUsageQuery(organization.id, monthStart()))
  const before = boundsOf(organization)
  const { form, sending, submit, error } = useApiForm({
    initialValues: before,
    send: (bounds) => boundOrganization(organization.id, boundsEdit(before, bounds)),
    onSuccess: () => notifications.show({ title: 'Limits saved', message: 'They apply from the next call.' }),
    onSettled: () => refreshOrganizations(queries),
  })
  const isEdited = Object.keys(boundsEdit(before, form.values)).length > 0
  return (
    <Panel
      title="Limits of the organization"
      description="Over all its workspaces. Administrators see them and cannot change them"
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
            <BoundFields
              form={form}
              used={usedOf(organization, usage.data && (usageOf(usage.data, organization.id) ?? null))}
            />
          </SimpleGrid>
          {error ? <ErrorPanel error={error} title="Could not save the limits" /> : null}
          <Group>
            <Button type="submit" loading={sending.isPending} disabled={!isEdited}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}

import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useApiForm } from '../../api/form'
import { ownBudget } from '../../api/monthly-budgets'
import { currentOrganizationQuery, type Organization, setOrganizationBudget } from '../../api/organizations'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { PanelSkeleton } from '../../ui/Skeletons'
import { BudgetField } from './BudgetField'
import { OnBudgetField } from './OnBudgetField'

/** The administrators' amount for all workspaces together. */
export function OrganizationBudget({ organizationId }: { organizationId: string }) {
  const organization = useQuery(currentOrganizationQuery(organizationId))
  return (
    <Panel title="Budget of the organization" description="For all its workspaces together">
      <Loaded query={organization} skeleton={<PanelSkeleton height={60} />} errorTitle="The budget could not be loaded">
        {(data) => (
          <BudgetForm key={`${data.monthlyUsd} ${data.operatorMonthlyUsd} ${data.onBudget}`} organization={data} />
        )}
      </Loaded>
    </Panel>
  )
}

function BudgetForm({ organization }: { organization: Organization }) {
  const queries = useQueryClient()
  const before = ownBudget(organization)
  const { form, sending, submit, error } = useApiForm({
    initialValues: { monthlyUsd: before, onBudget: organization.onBudget },
    send: (budget) => setOrganizationBudget(organization.id, budget),
    onSuccess: (saved) => {
      queries.setQueryData(currentOrganizationQuery(organization.id).queryKey, saved)
      void queries.invalidateQueries({ queryKey: ['costs'] })
      notifications.show({ title: 'Budget saved', message: 'It applies from the next call.' })
    },
  })
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <BudgetField
          {...form.getInputProps('monthlyUsd')}
          operatorUsd={organization.operatorMonthlyUsd}
          value={form.values.monthlyUsd}
          onChange={(usd) => form.setFieldValue('monthlyUsd', usd)}
        />
        <OnBudgetField
          value={form.values.onBudget}
          onChange={(chosen) => form.setFieldValue('onBudget', chosen === 'suspend' ? 'suspend' : 'continue')}
        />
        <Button type="submit" loading={sending.isPending} disabled={!form.isDirty()}>
          Save budget
        </Button>
      </Group>
      {error ? <ErrorPanel error={error} title="Could not save the budget" /> : null}
    </form>
  )
}

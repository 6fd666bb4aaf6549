import { Button, Group, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { SESSION_KEY } from '../../api/client'
import { conflictingRecord } from '../../api/errors'
import { useApiForm } from '../../api/form'
import { ownBudget } from '../../api/monthly-budgets'
import { changeWorkspace, type Workspace, workspaceQuery } from '../../api/workspaces'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatCount } from '../../ui/format'
import { OptionalNumber } from '../../ui/OptionalNumber'
import { BudgetField } from './BudgetField'
import { Conflict } from './Conflict'
import { editOf, FIELDS, type FieldName, isChanged, settingsOf } from './limits'
import { OnBudgetField } from './OnBudgetField'

const MAX_NAME = 100
/** They are not numbers. */
const OTHER_FIELDS: FieldName[] = ['name', 'monthlyUsd', 'onBudget']

/** The settings, and the record that they were read from. */
const fieldsOf = (workspace: Workspace, isOperator: boolean) => ({
  ...settingsOf(workspace, isOperator),
  read: workspace,
})

/** Edits a snapshot of the record, so that a refetch does not change fields while the user types. */
export function LimitsForm({ workspace, isOperator }: { workspace: Workspace; isOperator: boolean }) {
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: fieldsOf(workspace, isOperator),
    send: ({ read, ...mine }) =>
      changeWorkspace(workspace.id, editOf(settingsOf(read, isOperator), mine, read.version)),
    onSuccess: (saved) => {
      form.setValues(fieldsOf(saved, isOperator))
      queries.setQueryData(workspaceQuery(workspace.id).queryKey, saved)
      void queries.invalidateQueries({ queryKey: ['quota', workspace.id] })
      void queries.invalidateQueries({ queryKey: ['costs', workspace.id] })
      if (saved.name !== workspace.name) void queries.invalidateQueries({ queryKey: SESSION_KEY })
      notifications.show({ title: 'Settings saved', message: 'They apply from the next call.' })
    },
  })
  const startFrom = (current: Workspace) => {
    sending.reset()
    form.setValues(fieldsOf(current, isOperator))
    queries.setQueryData(workspaceQuery(workspace.id).queryKey, current)
  }
  const { read, ...mine } = form.values
  const base = settingsOf(read, isOperator)
  const defaults: Partial<Record<FieldName, number>> = read.defaults
  const isEdited = isChanged(base, mine)
  useEffect(() => {
    if (!isEdited && workspace.version !== read.version) form.setValues(fieldsOf(workspace, isOperator))
  })
  const current = conflictingRecord<Workspace>(error)
  if (current) {
    return (
      <Conflict
        base={base}
        theirs={settingsOf(current, isOperator)}
        mine={mine}
        isPending={sending.isPending}
        onDiscard={() => startFrom(current)}
        onSave={(merged) => {
          const fields = { ...merged, read: current }
          form.setValues(fields)
          if (isChanged(settingsOf(current, isOperator), merged)) sending.mutate(fields)
          else startFrom(current)
        }}
      />
    )
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <TextInput label="Name" required maxLength={MAX_NAME} maw={420} {...form.getInputProps('name')} />
        <SimpleGrid cols={{ base: 1, sm: 2, xl: 4 }} spacing="md">
          {FIELDS.filter(({ name }) => !OTHER_FIELDS.includes(name)).map(({ name, label, unit }) => (
            <OptionalNumber
              key={name}
              label={label}
              description={isOperator ? `${unit}; platform default ${formatCount(defaults[name] ?? 0)}` : unit}
              placeholder="Platform default"
              min={0}
              allowDecimal={false}
              allowNegative={false}
              thousandSeparator=","
              {...form.getInputProps(name)}
              value={typeof mine[name] === 'number' ? mine[name] : undefined}
              onChange={(value) => form.setFieldValue(name, value ?? null)}
            />
          ))}
          <BudgetField
            {...form.getInputProps('monthlyUsd')}
            operatorUsd={isOperator ? null : read.operatorMonthlyUsd}
            adminUsd={isOperator ? ownBudget(read) : null}
            value={mine.monthlyUsd}
            onChange={(usd) => form.setFieldValue('monthlyUsd', usd)}
          />
          <OnBudgetField value={mine.onBudget} onChange={(chosen) => form.setFieldValue('onBudget', chosen)} />
        </SimpleGrid>
        {error ? <ErrorPanel error={error} title="Could not save the settings" /> : null}
        <Group gap="xs">
          <Button type="submit" loading={sending.isPending} disabled={!isEdited || !mine.name}>
            Save
          </Button>
          <Button variant="default" disabled={!isEdited || sending.isPending} onClick={() => startFrom(workspace)}>
            Undo changes
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

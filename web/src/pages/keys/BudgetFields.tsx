import { ActionIcon, Button, Checkbox, Group, Input, Select, Stack, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { TimeField } from '../../ui/TimeField'
import { type BudgetRow, MAX_BUDGETS, nextRow, WINDOWS } from './budgets'

// biome-ignore lint/suspicious/noExplicitAny: forms have other fields, too.
type Form = UseFormReturnType<any>

/** Budgets, one row each: the field `budgets` of a form. */
export function BudgetFields({ form, description }: { form: Form; description: string }) {
  const rows: BudgetRow[] = form.values.budgets
  return (
    <Input.Wrapper
      label="Budgets"
      labelElement="div"
      description={`${description}; windows start in UTC`}
      error={form.errors.budgets}
    >
      <Stack gap="xs" mt="xs">
        {rows.map((row, index) => (
          <BudgetFieldsRow key={form.key(`budgets.${index}`)} form={form} index={index} row={row} />
        ))}
        {rows.length < MAX_BUDGETS ? (
          <Group>
            <Button
              variant="default"
              size="xs"
              leftSection={<IconPlus size={14} />}
              onClick={() => form.insertListItem('budgets', nextRow(rows))}
            >
              Add budget
            </Button>
          </Group>
        ) : null}
      </Stack>
    </Input.Wrapper>
  )
}

function BudgetFieldsRow({ form, index, row }: { form: Form; index: number; row: BudgetRow }) {
  const of = `budget ${index + 1}`
  const set = (change: Partial<BudgetRow>) => form.setFieldValue(`budgets.${index}`, { ...row, ...change })
  return (
    <Stack gap={6}>
      <Group gap="xs" wrap="nowrap">
        <Select
          aria-label={`Window of ${of}`}
          data={[...WINDOWS]}
          allowDeselect={false}
          value={row.window}
          onChange={(window) => set({ window: WINDOWS.find(({ value }) => value === window)?.value ?? row.window })}
        />
        <TextInput
          aria-label={`Amount of ${of}`}
          placeholder="25.00"
          inputMode="decimal"
          leftSection="$"
          value={row.usd}
          onChange={(event) => set({ usd: event.currentTarget.value })}
        />
        <Checkbox
          label="Soft"
          title="Only shows that it was exceeded"
          checked={row.soft}
          onChange={(event) => set({ soft: event.currentTarget.checked, raiseUsd: '', raiseUntil: '' })}
        />
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Remove ${of}`}
          onClick={() => form.removeListItem('budgets', index)}
        >
          <IconTrash size={16} />
        </ActionIcon>
      </Group>
      {row.soft ? null : (
        <Group gap="xs" wrap="nowrap">
          <TextInput
            aria-label={`Raised amount of ${of}`}
            placeholder="Raise to"
            inputMode="decimal"
            leftSection="$"
            value={row.raiseUsd}
            onChange={(event) =>
              set({ raiseUsd: event.currentTarget.value, ...(event.currentTarget.value ? {} : { raiseUntil: '' }) })
            }
          />
          {row.raiseUsd ? (
            <TimeField
              kind="time"
              label={`End of the raise of ${of}`}
              prefix="until"
              value={row.raiseUntil}
              onChange={(raiseUntil) => set({ raiseUntil })}
            />
          ) : null}
        </Group>
      )}
    </Stack>
  )
}

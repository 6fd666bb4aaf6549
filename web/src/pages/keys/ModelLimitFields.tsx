import { ActionIcon, Autocomplete, Button, Group, Input, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { OptionalNumber } from '../../ui/OptionalNumber'
import type { KeyValues } from './key-values'
import { MAX_MODEL_LIMITS, type ModelLimitRow, NO_LIMIT } from './limits'

const COUNT = { min: 1, allowDecimal: false, allowNegative: false, thousandSeparator: ',', hideControls: true } as const

type Props = { form: UseFormReturnType<KeyValues>; models: string[] }

/** The limits of a key by model, one row each. */
export function ModelLimitFields({ form, models }: Props) {
  const rows = form.values.modelLimits
  const set = (index: number, change: Partial<ModelLimitRow>) =>
    form.setFieldValue(`modelLimits.${index}`, { ...NO_LIMIT, ...rows[index], ...change })
  return (
    <Input.Wrapper
      label="Limits by model"
      labelElement="div"
      description="Per minute, for a model or for all whose ids begin alike"
      error={form.errors['limits.perModel']}
    >
      <Stack gap="xs" mt="xs">
        {rows.map((row, index) => (
          <Group key={form.key(`modelLimits.${index}`)} gap="xs" wrap="nowrap">
            <Autocomplete
              aria-label={`Model of limit ${index + 1}`}
              placeholder="acme/*"
              style={{ flex: 2 }}
              data={models}
              value={row.model}
              onChange={(model) => set(index, { model })}
            />
            <OptionalNumber
              aria-label={`Requests per minute of limit ${index + 1}`}
              placeholder="Requests"
              style={{ flex: 1 }}
              {...COUNT}
              value={row.requestsPerMinute}
              onChange={(requestsPerMinute) => set(index, { requestsPerMinute })}
            />
            <OptionalNumber
              aria-label={`Tokens per minute of limit ${index + 1}`}
              placeholder="Tokens"
              style={{ flex: 1 }}
              {...COUNT}
              value={row.tokensPerMinute}
              onChange={(tokensPerMinute) => set(index, { tokensPerMinute })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove limit ${index + 1}`}
              onClick={() => form.removeListItem('modelLimits', index)}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Group>
        ))}
        {rows.length < MAX_MODEL_LIMITS ? (
          <Group>
            <Button
              variant="default"
              size="xs"
              leftSection={<IconPlus size={14} />}
              onClick={() => form.insertListItem('modelLimits', NO_LIMIT)}
            >
              Add limit
            </Button>
          </Group>
        ) : null}
      </Stack>
    </Input.Wrapper>
  )
}

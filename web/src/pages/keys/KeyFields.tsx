import { Accordion, Checkbox, Select, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { modelRecordsQuery } from '../../api/models'
import { OptionalNumber } from '../../ui/OptionalNumber'
import { BudgetFields } from './BudgetFields'
import { hasAdvanced, type KeyValues, type Lifetime, limitHint } from './key-values'
import { ModelLimitFields } from './ModelLimitFields'
import { PERMISSIONS } from './restrictions'

const MAX_NAME = 100
const MAX_MODELS = 100
const MAX_ADDRESSES = 64
const MAX_LABELS = 16

type Props = {
  form: UseFormReturnType<KeyValues>
  lifetimes: Lifetime[]
  workspaceId: string
  /** Of the workspace, undefined until they are loaded. */
  limits: { requestsPerMinute: number; tokensPerMinute: number } | undefined
}

/** The fields of a new key and of an edited one. */
export function KeyFields({ form, lifetimes, workspaceId, limits }: Props) {
  return (
    <>
      <TextInput
        label="Name"
        description="Which program uses the key"
        placeholder="chat-backend"
        data-autofocus
        required
        maxLength={MAX_NAME}
        {...form.getInputProps('name')}
      />
      <Select label="Expires" data={lifetimes} allowDeselect={false} {...form.getInputProps('expiry')} />
      <Checkbox.Group
        label="Permissions"
        description="A key that only calls models cannot commit GPUs if it leaks"
        {...form.getInputProps('permissions')}
      >
        <Stack gap={6} mt="xs">
          {PERMISSIONS.map(({ value, label }) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
      <Accordion variant="separated" chevronPosition="left" defaultValue={hasAdvanced(form.values) ? 'advanced' : null}>
        <Accordion.Item value="advanced">
          <Accordion.Control>Advanced</Accordion.Control>
          <Accordion.Panel>
            <Advanced form={form} workspaceId={workspaceId} limits={limits} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </>
  )
}

function Advanced({ form, workspaceId, limits }: Omit<Props, 'lifetimes'>) {
  const models = useQuery(modelRecordsQuery(workspaceId))
  const limit = (name: 'requestsPerMinute' | 'tokensPerMinute', label: string) => (
    <OptionalNumber
      label={label}
      placeholder="Workspace limit"
      description={limitHint(form.values[name], limits?.[name])}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      min={1}
      allowDecimal={false}
      thousandSeparator=","
      {...form.getInputProps(name)}
    />
  )
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        {limit('requestsPerMinute', 'Requests per minute')}
        {limit('tokensPerMinute', 'Tokens per minute')}
      </SimpleGrid>
      <ModelLimitFields form={form} models={(models.data ?? []).map(({ id }) => id)} />
      <TagsInput
        label="Models"
        description="Ids or aliases, or the beginning of one with a *; empty for all"
        placeholder={form.values.allowedModels.length ? undefined : 'All models'}
        data={[...(models.data ?? []).map(({ id }) => id), 'dedicated/*']}
        maxTags={MAX_MODELS}
        {...form.getInputProps('allowedModels')}
      />
      <TagsInput
        label="Addresses"
        description="Where the key may be used from, such as 10.0.0.0/8; empty for anywhere"
        placeholder={form.values.allowedIps.length ? undefined : 'Anywhere'}
        splitChars={[',', ' ']}
        maxTags={MAX_ADDRESSES}
        {...form.getInputProps('allowedIps')}
      />
      <TagsInput
        label="Labels"
        description="Costs can be grouped by a label"
        placeholder={form.values.labels.length ? undefined : 'team=search'}
        maxTags={MAX_LABELS}
        {...form.getInputProps('labels')}
      />
      <BudgetFields form={form} description="The most that calls of the key may cost, in USD" />
      <Checkbox
        label="Calls name their end users"
        description="For a program of yours that many people use, such as a chat application: usage, limits and budgets by person"
        {...form.getInputProps('trustsEndUser', { type: 'checkbox' })}
      />
    </Stack>
  )
}

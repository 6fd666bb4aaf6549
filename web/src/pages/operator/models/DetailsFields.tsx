import { Checkbox, Select, SimpleGrid, TextInput } from '@mantine/core'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import type { FieldErrors } from './errors'
import type { DetailFields, Modality } from './fields'

type Props = {
  fields: DetailFields
  errors: FieldErrors
  onChange: (change: Partial<DetailFields>) => void
}

/** Fields whose errors this part of a form shows. */
export const DETAIL_NAMES = ['name', 'modality', 'contextLength', 'inputPer1m', 'cachedInputPer1m', 'outputPer1m']
const MODALITIES = [
  { value: 'chat', label: 'Chat' },
  { value: 'embedding', label: 'Embedding' },
]
const PRICES = [
  { name: 'inputPer1m', label: 'Input', placeholder: '0' },
  { name: 'cachedInputPer1m', label: 'Cached input', placeholder: 'As input' },
  { name: 'outputPer1m', label: 'Output', placeholder: '0' },
] as const

/** Name, context, prices and the sharing of prompt caches. */
export function DetailsFields({ fields, errors, onChange }: Props) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        <TextInput
          label="Name"
          placeholder="As the Model ID"
          maxLength={100}
          value={fields.name}
          error={errors.of('name')}
          onChange={(event) => onChange({ name: event.currentTarget.value })}
        />
        <Select
          label="Modality"
          data={MODALITIES}
          allowDeselect={false}
          value={fields.modality}
          error={errors.of('modality')}
          onChange={(modality) => onChange({ modality: (modality ?? 'chat') as Modality })}
        />
        <OptionalNumber
          label="Context length"
          placeholder="Default"
          min={1}
          allowDecimal={false}
          thousandSeparator=","
          value={fields.contextLength}
          error={errors.of('contextLength')}
          onChange={(contextLength) => onChange({ contextLength })}
        />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        {PRICES.filter(({ name }) => name !== 'outputPer1m' || fields.modality === 'chat').map(
          ({ name, label, placeholder }) => (
            <TextInput
              key={name}
              label={`${label} price`}
              description="USD per million tokens"
              placeholder={placeholder}
              inputMode="decimal"
              autoComplete="off"
              value={fields[name]}
              error={errors.of(name)}
              onChange={(event) => onChange({ [name]: event.currentTarget.value })}
            />
          ),
        )}
      </SimpleGrid>
      <Checkbox
        label="Workspaces share prompt caches"
        description="Faster for equal system prompts, but one tenant can measure whether another sent the same prompt"
        checked={fields.sharePrefixCache}
        onChange={(event) => onChange({ sharePrefixCache: event.currentTarget.checked })}
      />
    </>
  )
}

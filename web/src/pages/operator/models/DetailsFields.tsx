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
export const DETAIL_NAMES = [
  'name',
  'modality',
  'contextLength',
  'inputPer1m',
  'cachedInputPer1m',
  'outputPer1m',
  'failover',
  'mediaUrls',
  'mergeSystem',
  'thinking',
]
const MODALITIES = [
  { value: 'chat', label: 'Chat' },
  { value: 'embedding', label: 'Embedding' },
]
const PRICES = [
  { name: 'inputPer1m', label: 'Input', placeholder: '0' },
  { name: 'cachedInputPer1m', label: 'Cached input', placeholder: 'As input' },
  { name: 'outputPer1m', label: 'Output', placeholder: '0' },
] as const

const THINKING = [
  { value: '', label: 'By the engine' },
  { value: 'reasoning_effort', label: 'reasoning_effort' },
  { value: 'enable_thinking', label: 'enable_thinking' },
  { value: 'none', label: 'None' },
]

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
      {fields.modality === 'chat' ? <ChatFields fields={fields} errors={errors} onChange={onChange} /> : null}
    </>
  )
}

/** What applies to chat models only. */
function ChatFields({ fields, errors, onChange }: Props) {
  return (
    <>
      <Checkbox
        label="Continue streams at another server"
        description="If a server is lost, the client still sees one stream. Every server’s engine must be known"
        checked={fields.failover}
        error={errors.of('failover')}
        onChange={(event) => onChange({ failover: event.currentTarget.checked })}
      />
      <Checkbox
        label="Accept addresses of images and files"
        description="The engine fetches them, also from inside your network"
        checked={fields.mediaUrls}
        error={errors.of('mediaUrls')}
        onChange={(event) => onChange({ mediaUrls: event.currentTarget.checked })}
      />
      <Checkbox
        label="Merge system messages"
        description="For chat templates that accept only one, at the start"
        checked={fields.mergeSystem}
        error={errors.of('mergeSystem')}
        onChange={(event) => onChange({ mergeSystem: event.currentTarget.checked })}
      />
      <Select
        label="Switch of thinking"
        description="The member of a request that turns thinking on and off, for Messages and Responses"
        maw={360}
        data={THINKING}
        allowDeselect={false}
        value={fields.thinking}
        error={errors.of('thinking')}
        onChange={(thinking) => onChange({ thinking: thinking ?? '' })}
      />
    </>
  )
}

import { Checkbox, Select, SimpleGrid, TextInput } from '@mantine/core'
import type { FormPart } from '../../../api/form'
import { Folded } from '../../../ui/Folded'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import type { DetailFields, Modality } from './fields'

type Props = { part: FormPart<DetailFields> }

const MODALITIES = [
  { value: 'chat', label: 'Chat' },
  { value: 'embedding', label: 'Embedding' },
  { value: 'rerank', label: 'Rerank' },
]
const PER_1M = 'USD per million tokens'
/** A price is only for models of its modality, if it has one. */
const PRICES: readonly {
  name: keyof DetailFields
  label: string
  description: string
  placeholder: string
  modality?: Modality
}[] = [
  { name: 'inputPer1m', label: 'Input price', description: PER_1M, placeholder: '0' },
  { name: 'cachedInputPer1m', label: 'Cached input price', description: PER_1M, placeholder: 'As input' },
  { name: 'outputPer1m', label: 'Output price', description: PER_1M, placeholder: '0', modality: 'chat' },
  {
    name: 'per1kSearches',
    label: 'Search price',
    description: 'USD per 1,000 rerank calls',
    placeholder: '0',
    modality: 'rerank',
  },
]

const THINKING = [
  { value: '', label: 'By the engine' },
  { value: 'reasoning_effort', label: 'reasoning_effort' },
  { value: 'enable_thinking', label: 'enable_thinking' },
  { value: 'thinking', label: 'thinking' },
  { value: 'thinking_budget', label: 'thinking_budget' },
  { value: 'thinking_token_budget', label: 'enable_thinking with thinking_token_budget' },
  { value: 'none', label: 'None' },
]

const PROBES = [
  { value: '', label: 'Default: engines of a known kind' },
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off' },
]

const REASONING_NAMES = [
  { value: 'both', label: 'reasoning and reasoning_content' },
  { value: 'as_is', label: 'As the engine writes it' },
]

/** Name, context, prices and the sharing of prompt caches. */
export function DetailsFields({ part }: Props) {
  const { fields, input, checkbox } = part
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        <TextInput label="Name" placeholder="As the Model ID" maxLength={100} {...input('name')} />
        <Select label="Modality" data={MODALITIES} allowDeselect={false} {...input('modality')} />
        <OptionalNumber
          label="Context length"
          placeholder="Default"
          min={1}
          allowDecimal={false}
          thousandSeparator=","
          {...input('contextLength')}
        />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        {PRICES.filter(({ modality = fields.modality }) => modality === fields.modality).map(
          ({ name, label, description, placeholder }) => (
            <TextInput
              key={name}
              label={label}
              description={description}
              placeholder={placeholder}
              inputMode="decimal"
              autoComplete="off"
              {...input(name)}
            />
          ),
        )}
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        <TextInput
          label="Batch price"
          description="The share of these prices that batches and flex calls pay"
          placeholder="1"
          inputMode="decimal"
          autoComplete="off"
          {...input('batchDiscount')}
        />
        <OptionalNumber
          label="Room for batches"
          description="The share of each server that they may take"
          placeholder="0.5"
          min={0}
          max={1}
          step={0.1}
          {...input('batchShare')}
        />
        <TextInput
          label="Queue timeout"
          description="How long other calls wait while all servers are full"
          placeholder="0s: not at all"
          autoComplete="off"
          {...input('queueTimeout')}
        />
      </SimpleGrid>
      {fields.optimized === undefined ? null : (
        <Checkbox
          label="Optimized build"
          description="Tuned or quantized for serving. Only models under the operator’s prefix are; other prefixes mean raw weights"
          {...checkbox('optimized')}
        />
      )}
      <Folded title="Caches, images, streams and thinking">
        <Checkbox
          label="Workspaces share prompt caches"
          description="Faster for equal system prompts, but one tenant can measure whether another sent the same prompt"
          {...checkbox('sharePrefixCache')}
        />
        <Select
          label="Probe servers"
          description="A few small calls show what they can do; a hosted provider bills you for them"
          maw={360}
          data={PROBES}
          allowDeselect={false}
          {...input('probe')}
        />
        {fields.modality === 'chat' ? <ChatFields part={part} /> : null}
      </Folded>
    </>
  )
}

/** What applies to chat models only. */
function ChatFields({ part: { input, checkbox } }: Props) {
  return (
    <>
      <Checkbox
        label="Continue streams at another server"
        description="If a server fails, the client still sees one stream. Every server’s engine must be known"
        {...checkbox('failover')}
      />
      <Checkbox
        label="Accept addresses of images and files"
        description="The engine fetches them, also from inside your network"
        {...checkbox('mediaUrls')}
      />
      <Checkbox
        label="Merge system messages"
        description="For chat templates that accept only one, at the start"
        {...checkbox('mergeSystem')}
      />
      <Select
        label="Thinking toggle"
        description="The member of a request that turns thinking on and off, for Messages and Responses"
        maw={360}
        data={THINKING}
        allowDeselect={false}
        {...input('thinking')}
      />
      <Select
        label="Name of the reasoning"
        description="In responses of chat; clients and engines differ"
        maw={360}
        data={REASONING_NAMES}
        allowDeselect={false}
        {...input('reasoningNames')}
      />
      <Checkbox
        label="Stream tool calls"
        description="Clear it if the engine’s tool parser loses arguments in streams: calls with tools then arrive at once"
        {...checkbox('streamTools')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" maw={560}>
        <OptionalNumber
          label="Pixels per image token"
          description="The side of a square that counts as one token"
          placeholder="28"
          min={1}
          max={4096}
          allowDecimal={false}
          {...input('imageSquare')}
        />
        <OptionalNumber
          label="Maximum tokens per image"
          description="For models with a fixed number, enter it"
          placeholder="16,384"
          min={1}
          allowDecimal={false}
          thousandSeparator=","
          {...input('maxImageTokens')}
        />
      </SimpleGrid>
    </>
  )
}

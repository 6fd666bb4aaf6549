import { Button, Checkbox, PasswordInput, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import classes from '../Operator.module.css'
import type { FieldErrors } from './errors'
import { EMPTY_UPSTREAM, type UpstreamFields } from './fields'

type Props = {
  upstreams: UpstreamFields[]
  canStoreKeys: boolean
  errors: FieldErrors
  onChange: (upstreams: UpstreamFields[]) => void
}

export const upstreamNames = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    ['url', 'model', 'apiKey', 'maxInFlight', 'engine'].map((name) => `upstreams[${index}].${name}`),
  ).flat()

const ENGINES = [
  { value: '', label: 'Unknown' },
  { value: 'forebay-engine', label: 'forebay-engine' },
  { value: 'vllm', label: 'vLLM' },
  { value: 'sglang', label: 'SGLang' },
  { value: 'llama-server', label: 'llama-server' },
]

/** Says why a key cannot be entered. */
export const NO_KEYS = 'Set FOREBAY_CONTENT_KEY on every node to store keys of servers'

/** The servers behind a model. Keys are entered, never shown. */
export function UpstreamsFields({ upstreams, canStoreKeys, errors, onChange }: Props) {
  const change = (index: number, edit: Partial<UpstreamFields>) =>
    onChange(upstreams.map((one, at) => (at === index ? { ...one, ...edit } : one)))
  return (
    <Stack gap="sm">
      {upstreams.map((upstream, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: servers have no identity but their position while they are edited.
        <fieldset key={index} className={classes.upstream} aria-label={`Server ${index + 1}`}>
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
            <TextInput
              label="Address"
              placeholder="http://10.0.0.5:8000/v1"
              required
              value={upstream.url}
              error={errors.of(`upstreams[${index}].url`)}
              onChange={(event) => change(index, { url: event.currentTarget.value })}
            />
            <TextInput
              label="Model there"
              placeholder="As the Model ID"
              value={upstream.model}
              error={errors.of(`upstreams[${index}].model`)}
              onChange={(event) => change(index, { model: event.currentTarget.value })}
            />
            <PasswordInput
              label="Key"
              placeholder={upstream.hasKey ? 'Unchanged' : 'None'}
              autoComplete="off"
              description={canStoreKeys ? 'Stored encrypted, never shown again' : NO_KEYS}
              disabled={!canStoreKeys || upstream.removesKey}
              value={upstream.apiKey}
              error={errors.of(`upstreams[${index}].apiKey`)}
              onChange={(event) => change(index, { apiKey: event.currentTarget.value })}
            />
            <OptionalNumber
              label="Most calls at once"
              description="Further calls go to other servers or wait"
              placeholder="No limit"
              min={1}
              allowDecimal={false}
              value={upstream.maxInFlight}
              error={errors.of(`upstreams[${index}].maxInFlight`)}
              onChange={(maxInFlight) => change(index, { maxInFlight })}
            />
            <Select
              label="Engine"
              description="Lost streams go on only at a known engine"
              data={ENGINES}
              allowDeselect={false}
              value={upstream.engine}
              error={errors.of(`upstreams[${index}].engine`)}
              onChange={(engine) => change(index, { engine: engine ?? '' })}
            />
          </SimpleGrid>
          {upstream.hasKey ? (
            <Checkbox
              label="Remove the stored key"
              checked={upstream.removesKey}
              onChange={(event) => change(index, { removesKey: event.currentTarget.checked, apiKey: '' })}
            />
          ) : null}
          {upstreams.length > 1 ? (
            <Button
              variant="default"
              size="xs"
              w="fit-content"
              onClick={() => onChange(upstreams.filter((_, at) => at !== index))}
            >
              Remove server {index + 1}
            </Button>
          ) : null}
        </fieldset>
      ))}
      <Button
        variant="default"
        w="fit-content"
        leftSection={<IconPlus size={16} />}
        onClick={() => onChange([...upstreams, EMPTY_UPSTREAM])}
      >
        Add a server
      </Button>
    </Stack>
  )
}

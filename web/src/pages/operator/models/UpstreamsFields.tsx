import { Button, Checkbox, PasswordInput, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus } from '@tabler/icons-react'
import { type FormPart, partOf } from '../../../api/form'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import classes from '../Operator.module.css'
import { EMPTY_UPSTREAM, type UpstreamFields } from './fields'

// biome-ignore lint/suspicious/noExplicitAny: a form with any other fields beside `upstreams`.
type Props = { form: UseFormReturnType<any>; canStoreKeys: boolean }

const ENGINES = [
  { value: '', label: 'Unknown' },
  { value: 'forebay-engine', label: 'forebay-engine' },
  { value: 'vllm', label: 'vLLM' },
  { value: 'sglang', label: 'SGLang' },
  { value: 'llama-server', label: 'llama-server' },
  { value: 'tei', label: 'Text Embeddings Inference' },
  { value: 'openai', label: 'OpenAI' },
]

/** Says why a key cannot be entered. */
export const NO_KEYS =
  'Keys are stored encrypted: start every node with the same FOREBAY_CONTENT_KEY, made by openssl rand -base64 32'

/** The servers behind a model. Keys are entered, never shown. */
export function UpstreamsFields({ form, canStoreKeys }: Props) {
  const upstreams: UpstreamFields[] = form.values.upstreams
  return (
    <Stack gap="sm">
      {upstreams.map((_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: servers have no identity but their position while they are edited.
        <fieldset key={index} className={classes.upstream} aria-label={`Server ${index + 1}`}>
          <ServerFields part={partOf(form, `upstreams.${index}`)} canStoreKeys={canStoreKeys} />
          {upstreams.length > 1 ? (
            <Button variant="default" size="xs" w="fit-content" onClick={() => form.removeListItem('upstreams', index)}>
              Remove server {index + 1}
            </Button>
          ) : null}
        </fieldset>
      ))}
      <Button
        variant="default"
        w="fit-content"
        leftSection={<IconPlus size={16} />}
        onClick={() => form.insertListItem('upstreams', EMPTY_UPSTREAM)}
      >
        Add a server
      </Button>
    </Stack>
  )
}

type ServerProps = { part: FormPart<UpstreamFields>; canStoreKeys: boolean }

function ServerFields({ part: { fields, input, change }, canStoreKeys }: ServerProps) {
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
        <TextInput label="Address" placeholder="http://10.0.0.5:8000/v1" required {...input('url')} />
        <TextInput label="Model name on the server" placeholder="As the Model ID" {...input('model')} />
        <PasswordInput
          label="Key"
          placeholder={fields.hasKey ? 'Unchanged' : 'None'}
          autoComplete="off"
          description={canStoreKeys ? 'Stored encrypted, never shown again' : NO_KEYS}
          disabled={!canStoreKeys || fields.removesKey}
          {...input('apiKey')}
        />
        <OptionalNumber
          label="Maximum concurrent calls"
          description="Further calls go to other servers or wait"
          placeholder="No limit"
          min={1}
          allowDecimal={false}
          {...input('maxInFlight')}
        />
        <Select
          label="Engine"
          description="Must be known for streams to continue on another server"
          data={ENGINES}
          allowDeselect={false}
          {...input('engine')}
        />
      </SimpleGrid>
      {fields.engine === 'vllm' ? (
        <Checkbox
          label="Runs with --scheduling-policy priority"
          description="It then gets the class of each call, so that interactive calls overtake batches"
          checked={fields.priorityScheduling}
          onChange={(event) => change({ priorityScheduling: event.currentTarget.checked })}
        />
      ) : null}
      {fields.hasKey ? (
        <Checkbox
          label="Remove the stored key"
          checked={fields.removesKey}
          onChange={(event) => change({ removesKey: event.currentTarget.checked, apiKey: '' })}
        />
      ) : null}
    </>
  )
}

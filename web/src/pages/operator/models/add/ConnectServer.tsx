import { Alert, Button, PasswordInput, SegmentedControl, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useState } from 'react'
import { useApiForm } from '../../../../api/form'
import { probeUpstream, type UpstreamProbe } from '../../../../api/operator/catalogue'
import { ErrorPanel } from '../../../../ui/ErrorPanel'
import { Facts } from '../../../../ui/Facts'
import { formatCount, formatDuration, sentence } from '../../../../ui/format'
import { Panel } from '../../../../ui/Panel'
import { StatusBadge } from '../../../../ui/StatusBadge'
import { suggestId } from '../fields'
import { NO_KEYS } from '../UpstreamsFields'
import { NewModelForm } from './NewModelForm'
import { SeveralModels } from './SeveralModels'
import { upstreamOf } from './several-models'

/** Address and key, what the server says about itself, and then the new model. */
export function ConnectServer({ canStoreKeys }: { canStoreKeys: boolean }) {
  const {
    form,
    sending: probe,
    submit,
    error,
  } = useApiForm({
    initialValues: { url: '', apiKey: '' } as { url: string; apiKey: string; model?: string },
    send: ({ url, apiKey, model }) =>
      probeUpstream({
        url: url.trim(),
        ...(apiKey.trim() ? { apiKey: apiKey.trim() } : {}),
        ...(model ? { model } : {}),
      }),
    resetsOnEdit: true,
  })
  return (
    <>
      <form onSubmit={submit} noValidate>
        <Panel
          title="1. Server"
          description="Any server that speaks OpenAI’s API: vLLM, SGLang, llama.cpp, forebay-engine"
        >
          <Stack gap="md">
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
              <TextInput
                label="Address"
                description="Usually ends with /v1, which is added if it is missing"
                placeholder="http://10.0.0.5:8000/v1"
                required
                inputMode="url"
                autoComplete="off"
                spellCheck={false}
                {...form.getInputProps('url')}
              />
              <PasswordInput
                label="Key"
                description={canStoreKeys ? 'If the server needs one. Stored encrypted, never shown again' : NO_KEYS}
                autoComplete="off"
                disabled={!canStoreKeys}
                {...form.getInputProps('apiKey')}
              />
            </SimpleGrid>
            {error ? <ErrorPanel error={error} title="Could not reach the server" /> : null}
            <Button type="submit" w="fit-content" loading={probe.isPending} disabled={!form.values.url.trim()}>
              Connect
            </Button>
          </Stack>
        </Panel>
      </form>
      {probe.data ? (
        <FoundServer
          key={probe.data.url}
          probe={probe.data}
          apiKey={form.values.apiKey}
          isAsking={probe.isPending}
          onModel={(model) => probe.mutate({ ...form.values, model })}
        />
      ) : null}
    </>
  )
}

type FoundProps = { probe: UpstreamProbe; apiKey: string; isAsking: boolean; onModel: (model: string) => void }

function FoundServer({ probe, apiKey, isAsking, onModel }: FoundProps) {
  const [isSeveral, setSeveral] = useState(false)
  const model = probe.call?.model ?? probe.models[0]?.id ?? ''
  if (!probe.reachable) return <NotReachable error={probe.error} />
  const offered = probe.models.find((one) => one.id === model)
  return (
    <>
      <Panel title="2. What the server offers">
        <Stack gap="md">
          {probe.error ? <NotReachable error={probe.error} /> : null}
          <Facts
            rows={[
              ['Engine', [probe.engine ?? 'not recognized', probe.version].filter(Boolean).join(' ')],
              ['Models', formatCount(probe.models.length)],
              [
                'Context length',
                offered?.contextLength ? `${formatCount(offered.contextLength)} tokens` : 'not reported',
              ],
              ['One-token call', <CallOutcome key="call" call={probe.call} />],
            ]}
          />
          {probe.models.length > 1 ? (
            <SegmentedControl
              aria-label="How many models to offer"
              w="fit-content"
              data={[
                { value: 'one', label: 'One model' },
                { value: 'several', label: 'Several models' },
              ]}
              value={isSeveral ? 'several' : 'one'}
              onChange={(value) => setSeveral(value === 'several')}
            />
          ) : null}
          {probe.models.length > 0 && !isSeveral ? (
            <Select
              label="Model to offer"
              description="Each choice is called once"
              data={probe.models.map(({ id }) => id)}
              value={model}
              allowDeselect={false}
              searchable={probe.models.length > 8}
              disabled={isAsking}
              maw={520}
              onChange={(value) => value && value !== model && onModel(value)}
            />
          ) : null}
        </Stack>
      </Panel>
      {isSeveral ? (
        <SeveralModels probe={probe} apiKey={apiKey} />
      ) : (
        <NewModelForm
          key={model}
          title="3. Name, prices and limits"
          serverVersion={probe.version}
          found={{
            id: suggestId(model),
            modality: probe.call?.modality === 'embedding' ? 'embedding' : 'chat',
            contextLength: offered?.contextLength ?? undefined,
            upstreams: [upstreamOf(probe, model, apiKey)],
          }}
        />
      )}
    </>
  )
}

function CallOutcome({ call }: { call: UpstreamProbe['call'] }) {
  if (!call) return <>not made: no model is known</>
  return call.ok ? (
    <StatusBadge tone="ok">{`Responded in ${formatDuration(call.durationMillis)}`}</StatusBadge>
  ) : (
    <>
      <StatusBadge tone="bad">Failed</StatusBadge> {call.error}
    </>
  )
}

const NotReachable = ({ error }: { error: string | null | undefined }) => (
  <Alert
    role="alert"
    color="red"
    variant="outline"
    icon={<IconPlugConnectedX aria-hidden />}
    title="The server cannot be used"
  >
    {error ? sentence(error) : 'It does not respond.'} Check the address, that Forebay’s machine can reach it, and the
    key.
  </Alert>
)

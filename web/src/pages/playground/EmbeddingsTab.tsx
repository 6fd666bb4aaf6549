import { Button, Group, Select, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconCode, IconPlayerStopFilled, IconVector } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { embed } from '../../api/inference'
import { EmptyState } from '../../ui/EmptyState'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatCount, formatDuration, formatMoney } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'
import { useFilters } from '../../ui/useFilters'
import { blockedReason, suspendedOf } from './blocked-reason'
import { costOf } from './figures'
import { FILTERS } from './filters'
import { initialModel, type ModelOption, optionGroups } from './model-options'
import { ResumeEndpoint } from './ResumeEndpoint'
import { ShowCode } from './ShowCode'
import { SimilarityMatrix } from './SimilarityMatrix'
import { MAX_TEXTS, textsOf } from './texts'
import { Waiting } from './Waiting'

const EXAMPLE = 'The river flooded the valley\nWater rose after the heavy rain\nThe invoice is due on Friday'

type EmbeddingsRequest = { model: string; input: string[] }

async function compute({ model, input }: EmbeddingsRequest, signal: AbortSignal) {
  const startedAt = performance.now()
  const response = await embed(model, input, signal)
  return { ...response, model, input, ms: performance.now() - startedAt }
}

/** Computes embeddings of texts and shows their similarity. */
export function EmbeddingsTab({ options }: { options: ModelOption[] }) {
  const [filters, change] = useFilters(FILTERS)
  const form = useForm({ initialValues: { lines: EXAMPLE } })
  const [shownCode, showCode] = useState<EmbeddingsRequest>()
  const running = useRef<AbortController>(undefined)
  const computed = useMutation({
    mutationFn: (request: EmbeddingsRequest) => {
      running.current = new AbortController()
      return compute(request, running.current.signal)
    },
  })
  const stop = () => {
    running.current?.abort()
    // Stopping shows no error.
    computed.reset()
  }

  if (options.length === 0) {
    return (
      <EmptyState title="No embedding models yet" icon={<IconVector size={32} />}>
        The operator adds models in the console or in the configuration file.
      </EmptyState>
    )
  }
  const model = initialModel(options, filters.model)
  const suspended = suspendedOf([model], options)
  const input = textsOf(form.values.lines)
  const blocked =
    blockedReason([model], options) ??
    (input.length === 0
      ? 'Enter at least one text.'
      : input.length > MAX_TEXTS
        ? `At most ${MAX_TEXTS} texts.`
        : undefined)
  const submit = form.onSubmit(() => {
    if (!blocked) computed.mutate({ model, input })
  })
  return (
    <Stack gap="md">
      <Panel title="Texts" description="Each line becomes a vector">
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Select
              label="Model"
              maw={420}
              data={optionGroups(options, model)}
              value={model}
              searchable
              nothingFoundMessage="No model matches"
              allowDeselect={false}
              onChange={(value) => value && change({ model: value })}
            />
            <Textarea label="Texts, one per line" rows={6} {...form.getInputProps('lines')} />
            <Group gap="xs">
              <Button type="submit" loading={computed.isPending} disabled={!!blocked} title={blocked}>
                Compute embeddings
              </Button>
              {computed.isPending ? (
                <Button color="red.8" leftSection={<IconPlayerStopFilled size={14} />} onClick={stop}>
                  Stop
                </Button>
              ) : null}
              <Button
                variant="default"
                leftSection={<IconCode size={16} />}
                onClick={() => showCode({ model, input })}
                disabled={input.length === 0}
              >
                Show code
              </Button>
              <Text size="sm" c="dimmed">
                {blocked ?? `${formatCount(input.length)} ${input.length === 1 ? 'text' : 'texts'}`}
              </Text>
              {suspended ? <ResumeEndpoint name={suspended} /> : null}
            </Group>
            {computed.isPending ? (
              <Waiting
                option={options.find((one) => one.id === computed.variables.model)}
                isAccepted={false}
                awaited="the vectors"
              />
            ) : null}
            {computed.error ? <ErrorPanel error={computed.error} title="Could not compute the embeddings" /> : null}
          </Stack>
        </form>
      </Panel>
      {computed.data ? (
        <Result result={computed.data} option={options.find((one) => one.id === computed.data.model)} />
      ) : null}
      <ShowCode kind="embeddings" request={shownCode} onClose={() => showCode(undefined)} />
    </Stack>
  )
}

function Result({ result, option }: { result: Awaited<ReturnType<typeof compute>>; option: ModelOption | undefined }) {
  const usage = { promptTokens: result.promptTokens, cachedTokens: 0, completionTokens: 0 }
  const cost = option?.pricing ? costOf(usage, option.pricing) : undefined
  return (
    <>
      <Panel title="Similarity" description="Cosine similarity of two vectors: 1 is the same direction, 0 is unrelated">
        <SimilarityMatrix texts={result.input} vectors={result.vectors} />
      </Panel>
      <Panel title="This call">
        <Stats>
          <Stat
            label="Vectors"
            value={formatCount(result.vectors.length)}
            note={`of ${formatCount(result.vectors[0]?.length ?? 0)} dimensions`}
          />
          <Stat label="Tokens" value={formatCount(result.promptTokens)} />
          <Stat label="Cost" value={cost ? formatMoney(cost) : 'per GPU-hour'} />
          <Stat label="Time" value={formatDuration(result.ms)} />
        </Stats>
      </Panel>
    </>
  )
}

import { Button, Group, Select, Stack, Text, Textarea } from '@mantine/core'
import { IconCode, IconVector } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { embed } from '../../api/inference'
import { EmptyState } from '../../ui/EmptyState'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatCount, formatDuration, formatMoney } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'
import { useFilters } from '../../ui/useFilters'
import { type Choice, groupsOf, startingChoice } from './choices'
import { costOf } from './figures'
import { FILTERS } from './filters'
import { ShowCode } from './ShowCode'
import { SimilarityMatrix } from './SimilarityMatrix'
import { MAX_TEXTS, textsOf } from './texts'
import { whyNotSend } from './why-not'

const EXAMPLE = 'The river flooded the valley\nWater rose after the heavy rain\nThe invoice is due on Friday'

type Asked = { model: string; input: string[] }

async function compute({ model, input }: Asked) {
  const startedAt = performance.now()
  const answer = await embed(model, input)
  return { ...answer, model, input, ms: performance.now() - startedAt }
}

/** Texts, one to a line, and how near they are to each other. */
export function EmbeddingsTab({ choices }: { choices: Choice[] }) {
  const [filters, change] = useFilters(FILTERS)
  const [lines, setLines] = useState(EXAMPLE)
  const [shownCode, showCode] = useState<Asked>()
  const computed = useMutation({ mutationFn: compute })

  if (choices.length === 0) {
    return (
      <EmptyState title="There is no embedding model yet" icon={<IconVector size={32} />}>
        Whoever runs Forebay adds models to its configuration, with <code>modality = "embedding"</code>.
      </EmptyState>
    )
  }
  const model = startingChoice(choices, filters.model)
  const input = textsOf(lines)
  const whyNot =
    whyNotSend([model], choices) ??
    (input.length === 0
      ? 'Write at least one text.'
      : input.length > MAX_TEXTS
        ? `At most ${MAX_TEXTS} texts.`
        : undefined)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!whyNot) computed.mutate({ model, input })
  }
  return (
    <Stack gap="md">
      <Panel title="Texts" description="Each line becomes a vector">
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Select
              label="Model"
              maw={420}
              data={groupsOf(choices, model)}
              value={model}
              allowDeselect={false}
              onChange={(value) => value && change({ model: value })}
            />
            <Textarea
              label="Texts, one to a line"
              rows={6}
              value={lines}
              onChange={(event) => setLines(event.currentTarget.value)}
            />
            <Group gap="xs">
              <Button type="submit" loading={computed.isPending} disabled={!!whyNot} title={whyNot}>
                Compute embeddings
              </Button>
              <Button
                variant="default"
                leftSection={<IconCode size={16} />}
                onClick={() => showCode({ model, input })}
                disabled={input.length === 0}
              >
                Show code
              </Button>
              <Text size="sm" c="dimmed">
                {whyNot ?? `${formatCount(input.length)} ${input.length === 1 ? 'text' : 'texts'}`}
              </Text>
            </Group>
            {computed.error ? <ErrorPanel error={computed.error} title="No embeddings" /> : null}
          </Stack>
        </form>
      </Panel>
      {computed.data ? (
        <Result result={computed.data} choice={choices.find((one) => one.id === computed.data.model)} />
      ) : null}
      <ShowCode kind="embeddings" request={shownCode} onClose={() => showCode(undefined)} />
    </Stack>
  )
}

function Result({ result, choice }: { result: Awaited<ReturnType<typeof compute>>; choice: Choice | undefined }) {
  const usage = { promptTokens: result.promptTokens, cachedTokens: 0, completionTokens: 0 }
  const cost = choice?.pricing ? costOf(usage, choice.pricing) : undefined
  return (
    <>
      <Panel
        title="Similarity"
        description="The cosine of the angle between two vectors: 1 points the same way, 0 is unrelated"
      >
        <SimilarityMatrix texts={result.input} vectors={result.vectors} />
      </Panel>
      <Panel title="This call">
        <Stats>
          <Stat
            label="Vectors"
            value={formatCount(result.vectors.length)}
            note={`of ${formatCount(result.vectors[0]?.length ?? 0)} numbers`}
          />
          <Stat label="Tokens" value={formatCount(result.promptTokens)} />
          <Stat label="Cost" value={cost ? formatMoney(cost) : 'by GPU-hour'} />
          <Stat label="Time" value={formatDuration(result.ms)} />
        </Stats>
      </Panel>
    </>
  )
}

import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type ModelTest, type OperatorModel, testModel } from '../../../api/operator/catalogue'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Facts } from '../../../ui/Facts'
import { formatCount, formatDuration } from '../../../ui/format'
import { Panel } from '../../../ui/Panel'
import { StatusBadge } from '../../../ui/StatusBadge'
import classes from '../Operator.module.css'

const PROMPT = 'Say hello.'

/** Sends a real call to the model. */
export function TestPanel({ model }: { model: OperatorModel }) {
  const [prompt, setPrompt] = useState(PROMPT)
  const test = useMutation({ mutationFn: () => testModel(model.id, prompt) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    test.mutate()
  }
  return (
    <Panel title="Test" description="A real call to one server of the model. It is neither metered nor billed">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label={model.modality === 'embedding' ? 'Text' : 'Prompt'}
            maxLength={2_000}
            value={prompt}
            onChange={(event) => setPrompt(event.currentTarget.value)}
          />
          <Button type="submit" w="fit-content" loading={test.isPending} disabled={!model.enabled || !prompt.trim()}>
            Send test call
          </Button>
          {model.enabled ? null : (
            <Text size="sm" c="dimmed">
              A disabled model has no servers to call.
            </Text>
          )}
          {test.error ? <ErrorPanel error={test.error} title="The test could not be sent" /> : null}
          {test.data ? <Outcome test={test.data} /> : null}
        </Stack>
      </form>
    </Panel>
  )
}

function Outcome({ test }: { test: ModelTest }) {
  const tokens = (count: number | null | undefined) => (count == null ? 'not reported' : formatCount(count))
  return (
    <Stack gap="sm" role="status">
      <Group gap="xs">
        <StatusBadge tone={test.ok ? 'ok' : 'bad'}>{test.ok ? 'The model responded' : 'The call failed'}</StatusBadge>
      </Group>
      {test.error ? <Text size="sm">{test.error}</Text> : null}
      {test.answer ? <pre className={classes.answer}>{test.answer}</pre> : null}
      <Facts
        rows={[
          ['Time', formatDuration(test.durationMillis)],
          ['Prompt tokens', tokens(test.promptTokens)],
          ['Completion tokens', tokens(test.completionTokens)],
          ['Server', test.replica ?? 'none'],
        ]}
      />
    </Stack>
  )
}

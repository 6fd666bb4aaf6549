import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useApiForm } from '../../../api/form'
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
  const { form, sending, submit, error } = useApiForm({
    initialValues: { prompt: PROMPT },
    send: ({ prompt }) => testModel(model.id, prompt),
  })
  return (
    <Panel title="Test" description="A real call to one server of the model. It is neither metered nor billed">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label={model.modality === 'embedding' ? 'Text' : 'Prompt'}
            maxLength={2_000}
            {...form.getInputProps('prompt')}
          />
          <Button
            type="submit"
            w="fit-content"
            loading={sending.isPending}
            disabled={!model.enabled || !form.values.prompt.trim()}
          >
            Send test call
          </Button>
          {model.enabled ? null : (
            <Text size="sm" c="dimmed">
              A disabled model has no servers to call.
            </Text>
          )}
          {error ? <ErrorPanel error={error} title="The test could not be sent" /> : null}
          {sending.data ? <Outcome test={sending.data} /> : null}
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
      {test.answer ? (
        // Focusable, so that the keyboard can scroll a long response.
        <pre className={classes.answer} tabIndex={0}>
          {test.answer}
        </pre>
      ) : null}
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

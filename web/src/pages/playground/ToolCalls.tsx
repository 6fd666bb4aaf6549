import { Button, Code, Group, Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import type { ToolCall } from '../../api/inference'
import type { ToolResult } from './conversation'
import { inLines } from './json-values'

type Props = {
  calls: readonly ToolCall[]
  /** Sends the results to the model; undefined if the conversation has gone on. */
  onContinue: ((results: ToolResult[]) => void) | undefined
}

/** The tools that a model calls. The user types what they return. */
export function ToolCalls({ calls, onContinue }: Props) {
  const [results, setResults] = useState<Record<number, string>>({})
  const send = () =>
    onContinue?.(calls.map(({ id, function: { name } }, index) => ({ id, name, content: results[index] ?? '' })))
  return (
    <Stack gap="xs">
      {calls.map(({ id, function: { name, arguments: text } }, index) => (
        <Stack key={id || name} gap={4}>
          <Text size="sm">
            Calls <Code>{name}</Code>
          </Text>
          <Code block tabIndex={0} aria-label={`Arguments of ${name}`}>
            {inLines(text)}
          </Code>
          {onContinue ? (
            <Textarea
              label={`Result of ${name}`}
              rows={3}
              value={results[index] ?? ''}
              onChange={(event) => setResults({ ...results, [index]: event.currentTarget.value })}
            />
          ) : null}
        </Stack>
      ))}
      {onContinue ? (
        <Group justify="flex-end">
          <Button size="xs" onClick={send} disabled={calls.some((_, index) => !results[index]?.trim())}>
            Continue
          </Button>
        </Group>
      ) : null}
    </Stack>
  )
}

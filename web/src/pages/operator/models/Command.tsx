import { Code, Text } from '@mantine/core'
import type { OperatorModel } from '../../../api/operator/catalogue'

/** How replicas of a flavor, or without one the model's own engines, are started, for those who want to know. */
export function Command({ model, flavor }: { model: OperatorModel; flavor?: string }) {
  const command = model.commands?.find((one) => (one.flavor ?? undefined) === flavor)
  if (!command) return null
  return (
    <details>
      <Text component="summary" size="sm" c="dimmed">
        Command
      </Text>
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {command.argv.join(' ')}
      </Code>
      <Text size="sm" c="dimmed" mt="xs">
        With the environment variables {command.environment.join(', ')}
      </Text>
    </details>
  )
}

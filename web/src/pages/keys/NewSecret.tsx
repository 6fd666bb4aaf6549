import { Alert, Button, Checkbox, Code, Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Model, modelsQuery } from '../../api/models'
import { firstCall } from '../../snippets/snippets'
import { CodeBlock } from '../../ui/CodeBlock'
import { CopyTextButton } from '../../ui/CopyButton'

type Props = { secret: string; workspaceId: string; note?: string; onClose: () => void }

/** The call can be pasted as it is, so it sets the variable that the other snippets use. */
const firstCallWith = (secret: string, { id, modality }: Pick<Model, 'id' | 'modality'>) =>
  `export FOREBAY_API_KEY=${secret}\n${firstCall(id, modality)}`

/** Shows a new secret once. The dialog closes only after the user confirms that it is stored. */
export function NewSecret({ secret, workspaceId, note, onClose }: Props) {
  const [isStored, setStored] = useState(false)
  const models = useQuery(modelsQuery(workspaceId))
  const model = models.data?.find((one) => one.status === 'available') ?? models.data?.[0]
  return (
    <Stack gap="sm">
      <Alert
        color="var(--fb-warn)"
        variant="outline"
        icon={<IconAlertTriangle aria-hidden />}
        title="Store this key now"
      >
        It is shown only once and cannot be retrieved later, not even by the operator.
      </Alert>
      <Code block aria-label="The new key" style={{ wordBreak: 'break-all', whiteSpace: 'pre-wrap' }}>
        {secret}
      </Code>
      <Group>
        <CopyTextButton value={secret} label="Copy key" />
      </Group>
      {note ? <Text size="sm">{note}</Text> : null}
      {model ? (
        <div>
          <Text size="sm" mb={4}>
            A first call with it:
          </Text>
          <CodeBlock label="First call" code={firstCallWith(secret, model)} />
        </div>
      ) : null}
      <Group justify="space-between" mt="xs">
        <Checkbox
          label="I have stored it"
          checked={isStored}
          onChange={(event) => setStored(event.currentTarget.checked)}
        />
        <Button disabled={!isStored} onClick={onClose}>
          Done
        </Button>
      </Group>
    </Stack>
  )
}

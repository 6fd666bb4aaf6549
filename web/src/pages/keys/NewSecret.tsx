import { Alert, Button, Checkbox, Code, Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useState } from 'react'
import { CopyTextButton } from '../../ui/CopyButton'

/** Shows a new secret once. The dialog closes only after the user confirms that it is stored. */
export function NewSecret({ secret, note, onClose }: { secret: string; note?: string; onClose: () => void }) {
  const [isStored, setStored] = useState(false)
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

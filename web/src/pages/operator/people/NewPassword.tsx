import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { CopyTextButton } from '../../../ui/CopyButton'

/** A generated password, shown once. */
export function NewPassword({ email, password, onClose }: { email: string; password: string; onClose: () => void }) {
  return (
    <Stack gap="sm">
      <Text>Give this password to {email}. It is shown only once; they can change it in their settings.</Text>
      <Code block aria-label="The new password">
        {password}
      </Code>
      <Group justify="space-between">
        <CopyTextButton value={password} label="Copy password" />
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}

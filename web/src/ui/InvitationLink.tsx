import { Alert, Button, Code, Group, Stack } from '@mantine/core'
import { IconMailForward } from '@tabler/icons-react'
import { CopyTextButton } from './CopyButton'
import { formatTime } from './format'

/** An invitation link, shown once. Forebay does not send email. */
export function InvitationLink({ expiresAt, url, onClose }: { expiresAt: string; url: string; onClose: () => void }) {
  return (
    <Stack gap="sm">
      <Alert color="var(--fb-busy)" variant="outline" icon={<IconMailForward aria-hidden />} title="Send this link">
        Forebay does not send email. The link is shown only once, works once, and expires on {formatTime(expiresAt)}.
      </Alert>
      <Code block aria-label="Invitation link" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {url}
      </Code>
      <Group justify="space-between">
        <CopyTextButton value={url} label="Copy link" />
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}

import { ActionIcon, Button, CopyButton as Copier, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

const SHOWN_MS = 1_500
const SIZE = 16

/** Icon button that copies a text. `label` names it, such as "Copy Model ID". */
export function CopyButton({ value, label }: { value: string; label: string }) {
  return (
    <Copier value={value} timeout={SHOWN_MS}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon variant="subtle" color="gray" c="dimmed" onClick={copy} aria-label={copied ? 'Copied' : label}>
            {copied ? <IconCheck size={SIZE} /> : <IconCopy size={SIZE} />}
          </ActionIcon>
        </Tooltip>
      )}
    </Copier>
  )
}

/** Copy button with a text label. */
export function CopyTextButton({ value, label }: { value: string; label: string }) {
  return (
    <Copier value={value} timeout={SHOWN_MS}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          onClick={copy}
          leftSection={copied ? <IconCheck size={SIZE} /> : <IconCopy size={SIZE} />}
        >
          {copied ? 'Copied' : label}
        </Button>
      )}
    </Copier>
  )
}

import { ActionIcon, Button, CopyButton as Copier } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

const SHOWN_MS = 1_500
const SIZE = 16

/** Icon button that copies a text. `label` names it, such as "Copy Model ID". Lists have many, so it has a plain title. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  return (
    <Copier value={value} timeout={SHOWN_MS}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="subtle"
          color="gray"
          c="dimmed"
          onClick={copy}
          aria-label={copied ? 'Copied' : label}
          title={copied ? 'Copied' : label}
        >
          {copied ? <IconCheck size={SIZE} /> : <IconCopy size={SIZE} />}
        </ActionIcon>
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

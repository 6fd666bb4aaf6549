import { Button } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import classes from './CopyButton.module.css'

const SHOWN_MS = 1_500
const SIZE = 16

/** Icon button that copies a text. `label` names it, such as "Copy Model ID". Lists have many, so it is a plain element. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const { copied, copy } = useClipboard({ timeout: SHOWN_MS })
  const name = copied ? 'Copied' : label
  return (
    <button type="button" className={classes.copy} onClick={() => copy(value)} aria-label={name} title={name}>
      {copied ? <IconCheck size={SIZE} /> : <IconCopy size={SIZE} />}
    </button>
  )
}

/** Copy button with a text label. */
export function CopyTextButton({ value, label }: { value: string; label: string }) {
  const { copied, copy } = useClipboard({ timeout: SHOWN_MS })
  return (
    <Button
      variant="default"
      onClick={() => copy(value)}
      leftSection={copied ? <IconCheck size={SIZE} /> : <IconCopy size={SIZE} />}
    >
      {copied ? 'Copied' : label}
    </Button>
  )
}

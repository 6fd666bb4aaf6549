import { Button, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { DialogButtons } from './DialogButtons'
import { ErrorPanel } from './ErrorPanel'

type Props = {
  opened: boolean
  onClose: () => void
  title: string
  /** Label of the button, such as "Delete alias". */
  action: string
  onConfirm: () => void
  isPending?: boolean
  error?: unknown
  /** Explains the consequences. */
  children: ReactNode
}

/** Confirmation for actions that can be undone by hand. */
export function ConfirmDialog({ opened, onClose, title, action, onConfirm, isPending, error, children }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <Stack gap="sm">
        <Text component="div">{children}</Text>
        {error ? <ErrorPanel error={error} /> : null}
        <DialogButtons onCancel={onClose}>
          <Button color="red.8" loading={isPending} onClick={onConfirm}>
            {action}
          </Button>
        </DialogButtons>
      </Stack>
    </Modal>
  )
}

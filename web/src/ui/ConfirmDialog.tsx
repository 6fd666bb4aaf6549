import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
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
    <Modal opened={opened} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="sm">
        <Text component="div">{children}</Text>
        {error ? <ErrorPanel error={error} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red.8" loading={isPending} onClick={onConfirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'

/** The end of a dialog: a button that cancels, and what it was opened for. */
export function DialogButtons({ onCancel, children }: { onCancel: () => void; children: ReactNode }) {
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" onClick={onCancel}>
        Cancel
      </Button>
      {children}
    </Group>
  )
}

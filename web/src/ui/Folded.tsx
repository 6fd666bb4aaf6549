import { Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import classes from './Folded.module.css'

/** Fields that most users do not need. They stay mounted, so that their errors and values are kept. */
export function Folded({ title, isOpen, children }: { title: string; isOpen?: boolean; children: ReactNode }) {
  // What the user opened stays open, whatever is typed.
  const [initially] = useState(isOpen)
  return (
    <details className={classes.folded} open={initially || undefined}>
      <summary>{title}</summary>
      <Stack gap="sm" mt="sm">
        {children}
      </Stack>
    </details>
  )
}

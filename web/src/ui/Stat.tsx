import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './Stat.module.css'

/** Row of labelled values, as a `dl`. */
export function Stats({ children }: { children: ReactNode }) {
  return <dl className={classes.stats}>{children}</dl>
}

type StatProps = { label: string; value: ReactNode; note?: ReactNode; isBad?: boolean }

export function Stat({ label, value, note, isBad }: StatProps) {
  return (
    <div className={classes.stat}>
      <Text component="dt" size="sm" c="dimmed">
        {label}
      </Text>
      <dd className={classes.value} data-bad={isBad || undefined}>
        {value}
        {note ? (
          <Text span size="sm" c="dimmed" className={classes.note}>
            {note}
          </Text>
        ) : null}
      </dd>
    </div>
  )
}

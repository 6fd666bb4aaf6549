import { Text } from '@mantine/core'
import { timeZone } from './time-range'

/** Says in which zone the times of charts are. */
export function ZoneNote({ className }: { className?: string }) {
  return (
    <Text size="sm" c="dimmed" className={className}>
      Times in {timeZone()}
    </Text>
  )
}

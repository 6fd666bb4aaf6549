import { Group, Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatShare } from './format'
import { toneOfShare } from './use-share'

/** Minimum width in percent, so that any use is visible. */
const MIN_PERCENT = 0.5

type Props = {
  /** Accessible name. */
  label: string
  /** Used share, which may be more than 1. */
  share: number
  /** Below the bar, such as "$2.00 of $25.00 used (8%)". */
  used: ReactNode
  /** Beside it, such as what is left or when it resets. */
  note?: ReactNode
  /** What the limit does now that it is reached. */
  reached?: ReactNode
  /** Reaching it only warns. */
  isSoft?: boolean
}

/** How much of a limit is used, as a bar with its figures. */
export function UseBar({ label, share, used, note, reached, isSoft = false }: Props) {
  const tone = toneOfShare(share, isSoft)
  return (
    <div>
      <Progress.Root size="lg" aria-label={label}>
        <Progress.Section
          value={Math.min(100, share > 0 ? Math.max(share * 100, MIN_PERCENT) : 0)}
          color={tone}
          aria-label={`${formatShare(share)} used`}
        />
      </Progress.Root>
      <Group justify="space-between" mt={6} gap="0 var(--mantine-spacing-xs)">
        <Text size="sm">{used}</Text>
        {note ? (
          <Text size="sm" c="dimmed">
            {note}
          </Text>
        ) : null}
      </Group>
      {reached ? (
        <Text size="sm" mt={4} c={tone}>
          {reached}
        </Text>
      ) : null}
    </div>
  )
}

import { Group, Loader, Text } from '@mantine/core'
import { useState } from 'react'
import { formatDuration } from '../../ui/format'
import { useNow } from '../../ui/useNow'
import type { ModelOption } from './model-options'
import { waitingFor } from './waiting'

/** Shorter waits need no clock. */
const SHOWN_AFTER_MS = 2_000

type Props = { option: ModelOption | undefined; isAccepted: boolean; awaited?: string }

/** Shown until the first token: the stage of the call, and the time it has taken. A cold start takes minutes. */
export function Waiting({ option, isAccepted, awaited }: Props) {
  const [startedAt] = useState(Date.now)
  const elapsed = useNow(1_000) - startedAt
  const stage = waitingFor(option, isAccepted, awaited)
  return (
    <Group gap="sm" wrap="nowrap">
      <Loader size="sm" type="dots" role="img" aria-label={stage} />
      {elapsed >= SHOWN_AFTER_MS || option?.endpoint ? (
        <Text size="sm" c="dimmed">
          {stage}, {formatDuration(Math.floor(elapsed / 1_000) * 1_000)}
        </Text>
      ) : null}
    </Group>
  )
}

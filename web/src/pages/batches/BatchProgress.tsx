import { Progress, Stack, Text } from '@mantine/core'
import type { Batch } from '../../api/batches'
import { useNow } from '../../ui/useNow'
import { countsText, paceText, shareOf } from './progress'

const TICK_MS = 5_000

/** The lines that have ended, how fast, and the time left. */
export function BatchProgress({ batch }: { batch: Batch }) {
  const pace = paceText(batch, useNow(TICK_MS))
  return (
    <Stack gap={4} miw={180}>
      <Progress value={100 * shareOf(batch)} aria-label={`Lines of ${batch.id} that have ended`} />
      <Text span size="sm">
        {countsText(batch)}
      </Text>
      {pace ? (
        <Text span size="xs" c="dimmed">
          {pace}
        </Text>
      ) : null}
    </Stack>
  )
}

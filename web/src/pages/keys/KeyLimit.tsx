import { Group, Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatCount } from '../../ui/format'

/** From here on the bar warns. */
const NEARLY_FULL = 0.8

/** How many keys there are of those that may be, before the limit is hit. */
export function KeyLimit({
  counted,
  limit,
  children,
}: {
  counted: number
  limit: number | undefined
  children: ReactNode
}) {
  const share = limit ? Math.min(1, counted / limit) : 0
  const tone = share >= 1 ? 'var(--fb-bad)' : share >= NEARLY_FULL ? 'var(--fb-warn)' : 'var(--fb-busy)'
  return (
    <Group justify="space-between" gap="sm" mb="md">
      {children}
      {limit === undefined ? null : (
        <Group gap="sm" wrap="nowrap">
          <Text size="sm" c={share >= NEARLY_FULL ? tone : 'dimmed'}>
            {formatCount(counted)} of {formatCount(limit)} keys
          </Text>
          <Progress
            w={140}
            size="sm"
            value={Math.max(share * 100, counted ? 2 : 0)}
            color={tone}
            aria-label={`${counted} of ${limit} keys are in use`}
          />
        </Group>
      )}
    </Group>
  )
}

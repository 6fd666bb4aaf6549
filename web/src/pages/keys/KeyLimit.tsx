import { Group, Progress, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatCount } from '../../ui/format'
import { isNearLimit, toneOfShare } from '../../ui/use-share'

/** Number of keys compared with the workspace's limit. */
export function KeyLimit({
  counted,
  limit,
  children,
}: {
  /** Undefined until it is loaded. */
  counted: number | undefined
  limit: number | undefined
  children: ReactNode
}) {
  const share = limit && counted ? Math.min(1, counted / limit) : 0
  const tone = toneOfShare(share)
  return (
    <Group justify="space-between" gap="sm" mb="md">
      {children}
      {limit === undefined || counted === undefined ? null : (
        <Group gap="sm" wrap="nowrap">
          <Text size="sm" c={isNearLimit(share) ? tone : 'dimmed'}>
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

import { Button, Group, Text } from '@mantine/core'
import { formatCount } from './format'

type Props = {
  shown: number
  /** The number of all rows, if it is known. */
  total?: number
  hasMore: boolean
  isLoading?: boolean
  label?: string
  onMore: () => void
}

/** Says how many rows are shown, and shows the next ones. */
export function MoreRows({ shown, total, hasMore, isLoading, label = 'Show more', onMore }: Props) {
  if (!hasMore) return null
  return (
    <Group justify="center" gap="sm" py="sm">
      {total === undefined ? null : (
        <Text size="sm" c="dimmed">
          {formatCount(shown)} of {formatCount(total)}
        </Text>
      )}
      <Button variant="default" size="xs" loading={isLoading} onClick={onMore}>
        {label}
      </Button>
    </Group>
  )
}

import { Button, Group, Text } from '@mantine/core'
import { formatCount } from './format'

/** Says how many rows are left, and shows the next ones. */
export function MoreRows({ shown, left, onMore }: { shown: number; left: number; onMore: () => void }) {
  if (left === 0) return null
  return (
    <Group justify="center" gap="sm" py="sm">
      <Text size="sm" c="dimmed">
        {formatCount(shown)} of {formatCount(shown + left)}
      </Text>
      <Button variant="default" size="xs" onClick={onMore}>
        Show more
      </Button>
    </Group>
  )
}

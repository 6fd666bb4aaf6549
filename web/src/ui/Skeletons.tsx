import { Paper, SimpleGrid, Skeleton, Stack } from '@mantine/core'

const keys = (count: number) => Array.from({ length: count }, (_, index) => index)

export function CardSkeletons({ count = 6 }: { count?: number }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="md">
      {keys(count).map((key) => (
        <Paper key={key} p="md" h={168}>
          <Skeleton h={16} w="60%" mb="sm" />
          <Skeleton h={12} w="80%" mb="xl" />
          <Skeleton h={12} mb="xs" />
          <Skeleton h={12} w="40%" />
        </Paper>
      ))}
    </SimpleGrid>
  )
}

export function TableSkeleton({ rows = 6 }: { rows?: number }) {
  return (
    <Paper p="md">
      <Stack gap="md">
        {keys(rows).map((key) => (
          <Skeleton key={key} h={16} />
        ))}
      </Stack>
    </Paper>
  )
}

export function PanelSkeleton({ height = 160 }: { height?: number }) {
  return (
    <Paper p="md">
      <Skeleton h={16} w={180} mb="md" />
      <Skeleton h={height} />
    </Paper>
  )
}

/** Shown while the code of a page loads. */
export function PageSkeleton() {
  return (
    <div role="status" aria-busy="true" aria-label="Loading">
      <Skeleton h={26} w={220} mb="lg" />
      <TableSkeleton />
    </div>
  )
}

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

/** The shell before the session is known: the page appears where it will be. */
export function ShellSkeleton() {
  return (
    <div style={{ display: 'flex', minHeight: '100dvh' }}>
      <Stack gap="md" p="md" w={248} visibleFrom="md" style={{ flex: 'none' }}>
        <Skeleton h={28} w={120} mb="md" />
        {keys(8).map((key) => (
          <Skeleton key={key} h={16} w="80%" />
        ))}
      </Stack>
      <div style={{ flex: 1, padding: 'var(--mantine-spacing-xl)' }}>
        <PageSkeleton />
      </div>
    </div>
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

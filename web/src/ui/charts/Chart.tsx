import { Skeleton, Text } from '@mantine/core'
import { Suspense } from 'react'
import { lazyPart } from '../lazy-part'
import type { ChartProps } from './series'

const Drawn = lazyPart(() => import('./DrawnChart'), NotLoaded)

function NotLoaded() {
  return (
    <Text size="sm" c="dimmed">
      The chart could not be loaded. Load the page again.
    </Text>
  )
}

/** Time chart whose code is loaded on first use. */
export function Chart(props: ChartProps) {
  return (
    <Suspense fallback={<Skeleton h={props.height ?? 220} />}>
      <Drawn {...props} />
    </Suspense>
  )
}

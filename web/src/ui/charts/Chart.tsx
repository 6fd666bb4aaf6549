import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { ChartProps } from './series'

const Drawn = lazy(() => import('./DrawnChart'))

/** A chart over time. Its code is loaded when one is first shown. */
export function Chart(props: ChartProps) {
  return (
    <Suspense fallback={<Skeleton h={props.height ?? 220} />}>
      <Drawn {...props} />
    </Suspense>
  )
}

import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { ChartProps } from './series'

const Drawn = lazy(() => import('./DrawnChart'))

/** Time chart whose code is loaded on first use. */
export function Chart(props: ChartProps) {
  return (
    <Suspense fallback={<Skeleton h={props.height ?? 220} />}>
      <Drawn {...props} />
    </Suspense>
  )
}

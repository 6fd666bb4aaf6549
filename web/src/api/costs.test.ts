import { expect, it, vi } from 'vitest'
import { usageOfWindowQuery } from './costs'
import { metricQuery } from './series'

it('the usage of a time range is refetched in the same moment as its charts', () => {
  vi.useFakeTimers({ now: 12_345_678 })
  const window = { spanMs: 3_600_000, liveMs: 5_000 }
  const next = ({ refetchInterval }: { refetchInterval?: unknown }) => (refetchInterval as () => number)()
  expect(next(usageOfWindowQuery('ws', window, 'model'))).toBe(next(metricQuery('ws', { metric: 'requests' }, window)))
  vi.useRealTimers()
})

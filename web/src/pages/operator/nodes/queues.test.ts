import { expect, it } from 'vitest'
import { summaryOf } from './queues'

it('sums up what waits', () => {
  expect(summaryOf([])).toBeUndefined()
  expect(summaryOf([{ calls: 1, tokens: 800 }])).toBe('1 call, 800 tokens')
  expect(
    summaryOf([
      { calls: 1_200, tokens: 3_000_000 },
      { calls: 34, tokens: 400_000 },
    ]),
  ).toBe('1,234 calls, 3.4M tokens')
})

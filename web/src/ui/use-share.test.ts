import { expect, it } from 'vitest'
import { isNearLimit, leftOfUsd, shareOf, shareOfUsd, toneOfShare } from './use-share'

it('a limit has a used share, and one of zero is used up', () => {
  expect([shareOf(1, 4), shareOf(0, 0), shareOf(9, 6)]).toEqual([0.25, 1, 1.5])
  expect(shareOfUsd('0.50', '2.00')).toBe(0.25)
  expect([0.79, 0.8].map(isNearLimit)).toEqual([false, true])
  expect([toneOfShare(1), toneOfShare(1, true)]).toEqual(['var(--fb-bad)', 'var(--fb-warn)'])
})

it('what is left of an amount is never negative', () => {
  expect(leftOfUsd('0.50', '2.00')).toBe(1_500_000_000n)
  expect(leftOfUsd('3.00', '2.00')).toBe(0n)
})

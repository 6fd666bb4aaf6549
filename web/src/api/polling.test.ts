import { expect, it } from 'vitest'
import { untilTick } from './polling'

it('panels of one interval refresh together, and not twice in a moment', () => {
  expect(untilTick(5_000, 12_000)).toBe(3_000)
  expect(untilTick(5_000, 15_000)).toBe(5_000)
  expect(untilTick(5_000, 14_900)).toBe(5_100)
})

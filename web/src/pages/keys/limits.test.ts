import { expect, it } from 'vitest'
import { limitsOf } from './limits'

it('shows limits of a key exactly, because a rounded limit is another one', () => {
  expect(limitsOf({ requestsPerMinute: 9_999, tokensPerMinute: 1_234_567 })).toBe(
    '9,999 requests/min, 1,234,567 tokens/min',
  )
  expect(limitsOf({ requestsPerMinute: null, tokensPerMinute: null })).toBeUndefined()
})

import { expect, it } from 'vitest'
import { isModelLimit, limitRows, limitsOf, modelLimitTexts, NO_LIMIT, toModelLimits } from './limits'

it('shows limits of a key exactly, because a rounded limit is another one', () => {
  expect(limitsOf({ requestsPerMinute: 9_999, tokensPerMinute: 1_234_567 })).toBe(
    '9,999 requests/min, 1,234,567 tokens/min',
  )
  expect(limitsOf({ requestsPerMinute: null, tokensPerMinute: null })).toBeUndefined()
})

it('keeps limits by model in rows, each with a model and a limit', () => {
  const limits = {
    perModel: [
      { model: 'acme/*', requestsPerMinute: 5, tokensPerMinute: null },
      { model: 'acme/big', requestsPerMinute: null, tokensPerMinute: 9_000 },
    ],
  }
  const rows = limitRows({ limits })
  expect(toModelLimits(rows)).toEqual(limits.perModel)
  expect(modelLimitTexts({ limits })).toEqual(['acme/*: 5 requests/min', 'acme/big: 9,000 tokens/min'])
  expect(rows.every(isModelLimit)).toBe(true)
  expect([NO_LIMIT, { ...NO_LIMIT, model: 'a' }, { ...NO_LIMIT, tokensPerMinute: 1 }].some(isModelLimit)).toBe(false)
})

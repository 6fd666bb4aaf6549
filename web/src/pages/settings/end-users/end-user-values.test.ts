import { expect, it } from 'vitest'
import { defaultsOf, isComplete, limitsText, toEdit, toSettings, valuesOf } from './end-user-values'

const budgets = [{ window: 'day' as const, usd: '0.50', soft: false }]

it('keeps the limits of all end users as they are read', () => {
  const settings = { keepText: true, requestsPerMinute: 5, tokensPerMinute: null, budgets }
  expect(toSettings(defaultsOf(settings))).toEqual(settings)
  expect(limitsText(settings)).toBe('5 requests/min, $0.50 per day')
})

it('lets an end user follow the workspace in what is empty', () => {
  const values = valuesOf({ requestsPerMinute: null, tokensPerMinute: 700, budgets: null })
  expect(toEdit(values)).toEqual({ requestsPerMinute: null, tokensPerMinute: 700, budgets: null })
  expect(limitsText({ requestsPerMinute: null, tokensPerMinute: null, budgets: null })).toBeUndefined()
})

it('is complete when each budget has an amount', () => {
  const [row] = defaultsOf({ keepText: false, budgets }).budgets
  if (!row) throw new Error('a row is missing')
  expect(isComplete(valuesOf({ budgets }))).toBe(true)
  expect(isComplete({ ...valuesOf({ budgets }), budgets: [{ ...row, usd: '' }] })).toBe(false)
})

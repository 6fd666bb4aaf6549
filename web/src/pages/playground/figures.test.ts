import { describe, expect, it } from 'vitest'
import { costOf, similarity, tokensPerSecond } from './figures'

const pricing = { input_per_1m: '0.02', cached_input_per_1m: '0.01', output_per_1m: '0.04' }

describe('figures of an answer', () => {
  it('compute the cost like the server: cached input at its own price, rounded once', () => {
    const usage = { promptTokens: 1_000, cachedTokens: 400, completionTokens: 500 }
    expect(costOf(usage, pricing)).toBe('0.000036000')
    expect(costOf({ promptTokens: 1, cachedTokens: 0, completionTokens: 0 }, pricing)).toBe('0.000000020')
    expect(costOf({ promptTokens: 1, cachedTokens: 5, completionTokens: 0 }, pricing)).toBe('0.000000010')
    expect(costOf({ promptTokens: 50_000_000, cachedTokens: 0, completionTokens: 0 }, pricing)).toBe('1.000000000')
    expect(costOf(usage, { ...pricing, output_per_1m: 'free' })).toBeUndefined()
  })

  it('measure speed without the time to the first token', () => {
    const usage = { promptTokens: 3, cachedTokens: 0, completionTokens: 21 }
    expect(tokensPerSecond({ usage, firstTokenMs: 500, totalMs: 1_500 })).toBe(20)
    expect(tokensPerSecond({ usage: { ...usage, completionTokens: 1 }, firstTokenMs: 5, totalMs: 9 })).toBeUndefined()
    expect(tokensPerSecond({ firstTokenMs: 5, totalMs: 9 })).toBeUndefined()
  })

  it('compare directions, not lengths', () => {
    expect(similarity([1, 0], [3, 0])).toBe(1)
    expect(similarity([1, 0], [0, 2])).toBe(0)
    expect(similarity([1, 0], [-2, 0])).toBe(-1)
    expect(similarity([0, 0], [1, 1])).toBe(0)
  })
})

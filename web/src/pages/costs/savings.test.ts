import { describe, expect, it } from 'vitest'
import type { UsageLine } from '../../api/costs'
import type { Model } from '../../api/models'
import { savingsOf } from './savings'

const line = (model: string, promptTokens: number, cachedTokens: number) =>
  ({ model, promptTokens, cachedTokens }) as UsageLine
const model = (id: string, input_per_1m: string, cached_input_per_1m: string) =>
  ({ id, pricing: { input_per_1m, cached_input_per_1m, output_per_1m: '0', currency: 'USD' } }) as Model

describe('savings by caching', () => {
  it('are cached tokens times the difference of the prices, exactly', () => {
    const usage = [line('acme/a', 3_000_000, 1_500_000), line('acme/b', 100, 40)]
    const models = [model('acme/a', '2', '0.5'), model('acme/b', '0.10', '0.10')]
    expect(savingsOf(usage, models)).toEqual({
      promptTokens: 3_000_100,
      cachedTokens: 1_500_040,
      savedNano: 2_250_000_000n,
    })
  })
  it('leave out endpoints, which are billed per GPU-hour, and models without a price', () =>
    expect(savingsOf([line('dedicated/x', 10, 5), line('acme/gone', 10, 5)], [])).toEqual({
      promptTokens: 0,
      cachedTokens: 0,
      savedNano: 0n,
    }))
})

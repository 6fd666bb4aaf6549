/** What prompt caching saved: cached tokens times the difference of the two input prices. */

import type { UsageLine } from '../../api/costs'
import type { Model } from '../../api/models'
import { nanoUsd } from '../../ui/format'

export type Savings = { promptTokens: number; cachedTokens: number; savedNano: bigint }

const MILLION = 1_000_000n

/** `usage` is grouped by model. Endpoints and models that are gone have no price per token, so they save nothing here. */
export function savingsOf(usage: readonly UsageLine[], models: readonly Model[]): Savings {
  const prices = new Map(models.map((model) => [model.id, model.pricing]))
  const savings: Savings = { promptTokens: 0, cachedTokens: 0, savedNano: 0n }
  for (const line of usage) {
    const price = prices.get(line.model ?? '')
    if (!price) continue
    const difference = (nanoUsd(price.input_per_1m) ?? 0n) - (nanoUsd(price.cached_input_per_1m) ?? 0n)
    savings.promptTokens += line.promptTokens
    savings.cachedTokens += line.cachedTokens
    savings.savedNano += (BigInt(line.cachedTokens) * difference) / MILLION
  }
  return savings
}

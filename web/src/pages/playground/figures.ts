/** Cost and speed of an answer, and similarity of vectors. */

import type { ChatUsage } from '../../api/chat-stream'
import { nanoUsd } from '../../ui/format'

type Pricing = { input_per_1m: string; cached_input_per_1m: string; output_per_1m: string }

const TOKENS_PER_PRICE = 1_000_000n
const NANO_DIGITS = 9

/** Cost in decimal dollars, rounded half up to a nano-dollar once, as the server does. */
export function costOf(usage: ChatUsage, pricing: Pricing): string | undefined {
  const [input, cachedInput, output] = [pricing.input_per_1m, pricing.cached_input_per_1m, pricing.output_per_1m].map(
    nanoUsd,
  )
  if (input === undefined || cachedInput === undefined || output === undefined) return undefined
  const cached = Math.min(usage.cachedTokens, usage.promptTokens)
  const millionths =
    BigInt(usage.promptTokens - cached) * input + BigInt(cached) * cachedInput + BigInt(usage.completionTokens) * output
  const nano = (millionths + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE
  const digits = nano.toString().padStart(NANO_DIGITS + 1, '0')
  return `${digits.slice(0, -NANO_DIGITS)}.${digits.slice(-NANO_DIGITS)}`
}

type Timed = { usage?: ChatUsage; firstTokenMs?: number; totalMs?: number }

/** Shorter durations mean that the text was buffered on its way, which says nothing about the model. */
const MIN_MS = 20

/** Generation speed after the first token, which is excluded. */
export function tokensPerSecond({ usage, firstTokenMs, totalMs }: Timed): number | undefined {
  if (!usage || firstTokenMs === undefined || totalMs === undefined) return undefined
  const [tokens, ms] = [usage.completionTokens - 1, totalMs - firstTokenMs]
  return tokens > 0 && ms >= MIN_MS ? (tokens * 1_000) / ms : undefined
}

/** Cosine similarity; 0 if a vector is zero. */
export function similarity(left: readonly number[], right: readonly number[]): number {
  let [dot, leftSize, rightSize] = [0, 0, 0]
  for (let index = 0; index < left.length; index += 1) {
    const [a, b] = [left[index] ?? 0, right[index] ?? 0]
    dot += a * b
    leftSize += a * a
    rightSize += b * b
  }
  const size = Math.sqrt(leftSize * rightSize)
  return size === 0 ? 0 : dot / size
}

/** What models can do, in words. */

import type { Tone } from './StatusBadge'

export type Support = 'yes' | 'no' | 'unknown'
export type CapabilityRow = { name: string; support: Support; note?: string | null }

const LABELS: Record<string, string> = {
  chat: 'Chat',
  completions: 'Completions',
  embeddings: 'Embeddings',
  rerank: 'Rerank',
  score: 'Score',
  tokenize: 'Tokenize',
  tools: 'Tools',
  streamed_tools: 'Tools in streams',
  parallel_tools: 'Several tools at once',
  reasoning: 'Reasoning apart from the text',
  reasoning_read: 'Reads earlier reasoning',
  json_schema: 'JSON schema',
  json_schema_thinking: 'JSON schema while thinking',
  images: 'Images',
  logprobs: 'Log probabilities',
  stream_usage: 'Usage in streams',
  cached_tokens: 'Cached tokens',
  overflow_errors: 'Rejects prompts that are too long',
  stream_errors: 'Errors in streams',
  native_messages: 'Native Messages API',
  native_responses: 'Native Responses API',
}

export const labelOf = (name: string) => LABELS[name] ?? name

export const SUPPORT: Record<Support, { tone: Tone; label: string }> = {
  yes: { tone: 'ok', label: 'Yes' },
  no: { tone: 'idle', label: 'No' },
  unknown: { tone: 'busy', label: 'Not known' },
}

/** What the API says of a model: true, false, or absent if it is not known. Known ones, in the order of the labels. */
export function knownRows(capabilities: Record<string, boolean>): CapabilityRow[] {
  const known = Object.keys(LABELS).filter((name) => name in capabilities)
  return known.map((name) => ({ name, support: capabilities[name] ? 'yes' : 'no' }))
}

/**
 * Reads the events of a streamed chat response: bytes in, events out, no React and no fetch. An error event or an end
 * without `[DONE]` is thrown as `ApiError`, so that a truncated response is never mistaken for a complete one.
 */

import { createParser } from 'eventsource-parser'
import { ApiError } from './errors'

export type ChatUsage = { promptTokens: number; cachedTokens: number; completionTokens: number }
export type ChatEvent =
  /** The response has begun. */
  | { kind: 'accepted'; requestId: string }
  | { kind: 'text'; text: string }
  /** Thoughts of a reasoning model, sent before the response text. */
  | { kind: 'reasoning'; text: string }
  /** A part of the call of a tool; the arguments of the parts with one index belong together. */
  | { kind: 'call'; index: number; id: string; name: string; arguments: string }
  | { kind: 'finish'; reason: string }
  | { kind: 'usage'; usage: ChatUsage }

/** Upper bound for one event, so that a broken stream cannot fill the browser's memory. */
export const MAX_EVENT_CHARS = 4 * 1024 * 1024

const DONE = '[DONE]'

type Chunk = {
  error?: { message?: unknown; code?: unknown; param?: unknown } | null
  choices?: { delta?: Delta | null; finish_reason?: string | null }[] | null
  usage?: {
    prompt_tokens?: number
    completion_tokens?: number
    prompt_tokens_details?: { cached_tokens?: number | null } | null
  } | null
}
type Delta = {
  content?: string | null
  reasoning_content?: string | null
  reasoning?: string | null
  tool_calls?: CallPart[] | null
}
type CallPart = { index?: number; id?: string | null; function?: { name?: string | null; arguments?: string | null } }

export async function* readChatStream(body: ReadableStream<Uint8Array>, requestId?: string): AsyncGenerator<ChatEvent> {
  const reader = body.getReader()
  // A character may be split between two chunks; the decoder keeps the first part.
  const decoder = new TextDecoder()
  const received: string[] = []
  let isTooLong = false
  const parser = createParser({
    onEvent: (event) => received.push(event.data),
    onError: (error) => {
      isTooLong ||= error.type === 'max-buffer-size-exceeded'
    },
    maxBufferSize: MAX_EVENT_CHARS,
  })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      parser.feed(done ? decoder.decode() : decoder.decode(value, { stream: true }))
      for (const data of received.splice(0)) {
        if (data.trim() === DONE) return
        yield* eventsOf(parse(data, requestId), requestId)
      }
      if (isTooLong) throw streamError('The response was cut off: a stream event is too long.', requestId)
      if (done) throw streamError('The response was cut off: the stream ended early.', requestId)
    }
  } finally {
    // Also runs when the consumer stops early: closing the connection stops the engine.
    await reader.cancel().catch(() => {})
  }
}

function* eventsOf(chunk: Chunk, requestId: string | undefined): Generator<ChatEvent> {
  if (chunk.error) throw errorEvent(chunk.error, requestId)
  const choice = chunk.choices?.[0]
  const reasoning = choice?.delta?.reasoning_content ?? choice?.delta?.reasoning
  if (reasoning) yield { kind: 'reasoning', text: reasoning }
  if (choice?.delta?.content) yield { kind: 'text', text: choice.delta.content }
  for (const part of choice?.delta?.tool_calls ?? []) {
    const { name, arguments: text } = part.function ?? {}
    yield { kind: 'call', index: part.index ?? 0, id: part.id ?? '', name: name ?? '', arguments: text ?? '' }
  }
  if (choice?.finish_reason) yield { kind: 'finish', reason: choice.finish_reason }
  if (chunk.usage) {
    yield {
      kind: 'usage',
      usage: {
        promptTokens: chunk.usage.prompt_tokens ?? 0,
        cachedTokens: chunk.usage.prompt_tokens_details?.cached_tokens ?? 0,
        completionTokens: chunk.usage.completion_tokens ?? 0,
      },
    }
  }
}

function parse(data: string, requestId: string | undefined): Chunk {
  try {
    const chunk: unknown = JSON.parse(data)
    if (typeof chunk === 'object' && chunk !== null) return chunk
  } catch {
    // Reported below.
  }
  throw streamError('The response was cut off: a stream event is not valid JSON.', requestId)
}

const headersWith = (requestId: string | undefined) => new Headers(requestId ? { 'x-request-id': requestId } : {})
const responseHead = (requestId: string | undefined) => ({ status: 200, headers: headersWith(requestId), url: '' })

const streamError = (message: string, requestId: string | undefined) =>
  new ApiError('transport', { message }, responseHead(requestId))

function errorEvent({ message, code, param }: NonNullable<Chunk['error']>, requestId: string | undefined) {
  const text = (value: unknown) => (typeof value === 'string' && value ? value : undefined)
  const fields = {
    message: text(message) ?? 'The model failed while generating the response.',
    code: text(code),
    field: text(param),
  }
  return new ApiError('api', fields, responseHead(requestId))
}

/**
 * Reads the events of a streamed chat answer. It knows no React and no fetch: bytes in, events out. An error event and
 * an end without `[DONE]` are thrown as `Failure`: an answer that broke off must not look whole.
 */

import { createParser } from 'eventsource-parser'
import { Failure } from './errors'

export type ChatUsage = { promptTokens: number; cachedTokens: number; completionTokens: number }
export type ChatEvent =
  | { kind: 'text'; text: string }
  /** What a model thinks before it answers. */
  | { kind: 'reasoning'; text: string }
  | { kind: 'finish'; reason: string }
  | { kind: 'usage'; usage: ChatUsage }

/** An event longer than this is none of a chat's; the stream is given up instead of the browser's memory. */
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
type Delta = { content?: string | null; reasoning_content?: string | null; reasoning?: string | null }

export async function* readChatStream(body: ReadableStream<Uint8Array>, requestId?: string): AsyncGenerator<ChatEvent> {
  const reader = body.getReader()
  // A character may be cut between two pieces: the decoder keeps its beginning.
  const decoder = new TextDecoder()
  const waiting: string[] = []
  let isTooLong = false
  const parser = createParser({
    onEvent: (event) => waiting.push(event.data),
    onError: (error) => {
      isTooLong ||= error.type === 'max-buffer-size-exceeded'
    },
    maxBufferSize: MAX_EVENT_CHARS,
  })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      parser.feed(done ? decoder.decode() : decoder.decode(value, { stream: true }))
      for (const data of waiting.splice(0)) {
        if (data.trim() === DONE) return
        yield* eventsOf(parse(data, requestId), requestId)
      }
      if (isTooLong) throw broken('The answer broke off: an event of the stream is too long.', requestId)
      if (done) throw broken('The answer broke off: the stream ended before it was complete.', requestId)
    }
  } finally {
    // Also when whoever reads has had enough: the connection is closed, and the engine stops.
    await reader.cancel().catch(() => {})
  }
}

function* eventsOf(chunk: Chunk, requestId: string | undefined): Generator<ChatEvent> {
  if (chunk.error) throw refused(chunk.error, requestId)
  const choice = chunk.choices?.[0]
  const reasoning = choice?.delta?.reasoning_content ?? choice?.delta?.reasoning
  if (reasoning) yield { kind: 'reasoning', text: reasoning }
  if (choice?.delta?.content) yield { kind: 'text', text: choice.delta.content }
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
    // Told below.
  }
  throw broken('The answer broke off: an event of the stream cannot be read.', requestId)
}

const headersWith = (requestId: string | undefined) => new Headers(requestId ? { 'x-request-id': requestId } : {})
const answerHead = (requestId: string | undefined) => ({ status: 200, headers: headersWith(requestId), url: '' })

const broken = (message: string, requestId: string | undefined) =>
  new Failure('transport', { message }, answerHead(requestId))

function refused({ message, code, param }: NonNullable<Chunk['error']>, requestId: string | undefined) {
  const text = (value: unknown) => (typeof value === 'string' && value ? value : undefined)
  const said = {
    message: text(message) ?? 'The model failed while it answered.',
    code: text(code),
    field: text(param),
  }
  return new Failure('refusal', said, answerHead(requestId))
}

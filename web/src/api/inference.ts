/** Model calls of the playground, authenticated by session. */

import { type ChatEvent, readChatStream } from './chat-stream'
import { clearEndedSession, sessionHeaders } from './client'
import { suspectConnection } from './connection'
import { readApiError, unreachable } from './errors'

export type ContentPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }
export type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }
export type Tool = { type: 'function'; function: { name: string; description?: string; parameters?: object } }
export type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | ContentPart[] }
  | { role: 'assistant'; content: string | null; tool_calls?: ToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }
export type ResponseFormat =
  | { type: 'json_object' }
  | { type: 'json_schema'; json_schema: { name: string; strict: true; schema: object } }
export type ChatParameters = {
  temperature?: number
  top_p?: number
  max_tokens?: number
  seed?: number
  stop?: string[]
  response_format?: ResponseFormat
  tools?: Tool[]
  reasoning_effort?: string
}
export type ChatRequest = { model: string; messages: ChatMessage[]; stream: true } & ChatParameters & {
    stream_options: { include_usage: true }
  }

const CHAT = '/v1/chat/completions'

/** Streams one response. Aborting `signal` closes the connection, which stops the engine. */
export async function* streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const response = await post(CHAT, request, signal)
  if (!response.body) throw unreachable(undefined)
  const requestId = response.headers.get('x-request-id') ?? undefined
  if (requestId) yield { kind: 'accepted', requestId }
  try {
    yield* readChatStream(response.body, requestId)
  } catch (thrown) {
    // fetch reports a connection lost mid-stream as a TypeError with the browser's own message.
    if (!(thrown instanceof TypeError)) throw thrown
    suspectConnection()
    throw unreachable(thrown)
  }
}

export type Embeddings = { vectors: number[][]; promptTokens: number }

export async function embed(model: string, input: string[], signal?: AbortSignal): Promise<Embeddings> {
  const response = await post('/v1/embeddings', { model, input }, signal)
  const body: { data: { index: number; embedding: number[] }[]; usage?: { prompt_tokens?: number } } =
    await response.json()
  const inOrder = [...body.data].sort((left, right) => left.index - right.index)
  return { vectors: inOrder.map((one) => one.embedding), promptTokens: body.usage?.prompt_tokens ?? 0 }
}

async function post(path: string, body: unknown, signal: AbortSignal | undefined): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', ...sessionHeaders('POST', path) }
  const init: RequestInit = { method: 'POST', headers, body: JSON.stringify(body), credentials: 'same-origin', signal }
  const response = await fetch(path, init).catch((cause: unknown) => {
    if (signal?.aborted) throw cause
    suspectConnection()
    throw unreachable(cause)
  })
  if (response.ok) return response
  const error = readApiError(response, await response.json().catch(() => undefined))
  clearEndedSession(error.status, error.code)
  throw error
}

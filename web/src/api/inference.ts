/** Model calls of the playground, authenticated by session, and the dedicated endpoints that can be called. */

import { queryOptions } from '@tanstack/react-query'
import { type ChatEvent, readChatStream } from './chat-stream'
import { clearEndedSession, client, type Schemas, sessionHeaders, unwrap } from './client'
import { readApiError, unreachable } from './errors'
import { polled } from './polling'

export type ServingEndpoint = Schemas['Endpoint']
export type ChatMessage = { role: 'system' | 'user' | 'assistant'; content: string }
export type ChatParameters = {
  temperature?: number
  top_p?: number
  max_tokens?: number
  seed?: number
  stop?: string[]
}
export type ChatRequest = { model: string; messages: ChatMessage[]; stream: true } & ChatParameters & {
    stream_options: { include_usage: true }
  }

const CHAT = '/v1/chat/completions'
const ENDPOINTS_POLL_MS = 10_000
const MAX_ENDPOINTS = 100

/** Streams one response. Aborting `signal` closes the connection, which stops the engine. */
export async function* streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const response = await post(CHAT, request, signal)
  if (!response.body) throw unreachable(undefined)
  try {
    yield* readChatStream(response.body, response.headers.get('x-request-id') ?? undefined)
  } catch (thrown) {
    // fetch reports a connection lost mid-stream as a TypeError with the browser's own message.
    throw thrown instanceof TypeError ? unreachable(thrown) : thrown
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
    throw signal?.aborted ? cause : unreachable(cause)
  })
  if (response.ok) return response
  const error = readApiError(response, await response.json().catch(() => undefined))
  clearEndedSession(error.status, error.code)
  throw error
}

/** Endpoints that are currently serving, for model pickers. */
export const servingEndpointsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId, 'serving'],
    queryFn: async ({ signal }) => {
      const query = { state: 'serving', limit: MAX_ENDPOINTS }
      return (await unwrap(client.GET('/v1/endpoints', { params: { query }, signal }))).data
    },
    ...polled(ENDPOINTS_POLL_MS),
  })

/** Calls of models by session, as the playground makes them, and the dedicated endpoints that can be called. */

import { queryOptions } from '@tanstack/react-query'
import { type ChatEvent, readChatStream } from './chat-stream'
import { ask, client, noteEndOfSession, type Schemas, sessionHeaders } from './client'
import { readFailure, unreachable } from './errors'
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

/** Streams one answer. Aborting `signal` closes the connection, and with it the engine's work. */
export async function* streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const answer = await post(CHAT, request, signal)
  if (!answer.body) throw unreachable(undefined)
  try {
    yield* readChatStream(answer.body, answer.headers.get('x-request-id') ?? undefined)
  } catch (thrown) {
    // A connection that is lost in the middle is told by fetch in the browser's own words.
    throw thrown instanceof TypeError ? unreachable(thrown) : thrown
  }
}

export type Embeddings = { vectors: number[][]; promptTokens: number }

export async function embed(model: string, input: string[], signal?: AbortSignal): Promise<Embeddings> {
  const answer = await post('/v1/embeddings', { model, input }, signal)
  const body: { data: { index: number; embedding: number[] }[]; usage?: { prompt_tokens?: number } } =
    await answer.json()
  const inOrder = [...body.data].sort((left, right) => left.index - right.index)
  return { vectors: inOrder.map((one) => one.embedding), promptTokens: body.usage?.prompt_tokens ?? 0 }
}

async function post(path: string, body: unknown, signal: AbortSignal | undefined): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', ...sessionHeaders('POST', path) }
  const init: RequestInit = { method: 'POST', headers, body: JSON.stringify(body), credentials: 'same-origin', signal }
  const answer = await fetch(path, init).catch((cause: unknown) => {
    throw signal?.aborted ? cause : unreachable(cause)
  })
  if (answer.ok) return answer
  const failure = readFailure(answer, await answer.json().catch(() => undefined))
  noteEndOfSession(failure.status, failure.code)
  throw failure
}

/** The endpoints that answer now, for a choice of models. */
export const servingEndpointsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId, 'serving'],
    queryFn: async ({ signal }) => {
      const query = { state: 'serving', limit: MAX_ENDPOINTS }
      return (await ask(client.GET('/v1/endpoints', { params: { query }, signal }))).data
    },
    ...polled(ENDPOINTS_POLL_MS),
  })

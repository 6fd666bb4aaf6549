/** The one way to the API. Types are those of `/openapi.json`; failures are thrown as `Failure`. */

import createClient from 'openapi-fetch'
import { readFailure, unreachable } from './errors'
import { queryClient } from './query-client'
import type { components, paths } from './schema'

export type Schemas = components['schemas']
type Answering<T> = Promise<{ data?: T; error?: unknown; response: Response }>

export const SESSION_KEY = ['session'] as const
const READS = new Set(['GET', 'HEAD'])

export const client = createClient<paths>({ baseUrl: globalThis.location?.origin ?? '', credentials: 'same-origin' })

/** Who is signed in, as far as is known now. */
export function knownSession(): Schemas['SignedIn'] | undefined {
  const session = queryClient.getQueryData<Schemas['Session']>(SESSION_KEY)
  return session && 'csrfToken' in session ? session : undefined
}

/** What a call by session carries: the token when it changes something, and on `/v1` the workspace it acts in. */
export function sessionHeaders(method: string, path: string): Record<string, string> {
  const session = knownSession()
  const headers: Record<string, string> = {}
  if (session && !READS.has(method)) headers['X-CSRF-Token'] = session.csrfToken
  if (session?.currentWorkspaceId && path.startsWith('/v1')) headers['X-Workspace-Id'] = session.currentWorkspaceId
  return headers
}

client.use({
  onRequest({ request }) {
    const headers = sessionHeaders(request.method, new URL(request.url).pathname)
    for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
    return request
  },
})

/** The body of a success; throws a `Failure` otherwise. `ask(client.GET('/v1/models'))`. */
export async function ask<T>(answering: Answering<T>): Promise<T> {
  const answer = await answering.catch((cause: unknown) => {
    throw isAbort(cause) ? cause : unreachable(cause)
  })
  if (answer.response.ok) return answer.data as T
  const failure = readFailure(answer.response, answer.error)
  noteEndOfSession(failure.status, failure.code)
  throw failure
}

/** The session is over: whoever looks at it is led to sign in. A wrong password is no such thing. */
export function noteEndOfSession(status: number | undefined, code: string | undefined) {
  if (status === 401 && code !== 'bad_credentials') queryClient.setQueryData(SESSION_KEY, { user: null })
}

const isAbort = (cause: unknown) => cause instanceof DOMException && cause.name === 'AbortError'

/** The API client. Types come from `/openapi.json`; errors are thrown as `ApiError`. */

import createClient from 'openapi-fetch'
import { suspectConnection } from './connection'
import { readApiError, unreachable } from './errors'
import { queryClient } from './query-client'
import type { components, paths } from './schema'

export type Schemas = components['schemas']
type PendingResponse<T> = Promise<{ data?: T; error?: unknown; response: Response }>

export const SESSION_KEY = ['session'] as const
const SAFE_METHODS = new Set(['GET', 'HEAD'])

export const client = createClient<paths>({ baseUrl: globalThis.location?.origin ?? '', credentials: 'same-origin' })

/** The session in the query cache, if any. */
export function cachedSession(): Schemas['SignedIn'] | undefined {
  const session = queryClient.getQueryData<Schemas['Session']>(SESSION_KEY)
  return session && 'csrfToken' in session ? session : undefined
}

/** Headers of a session call: the CSRF token for mutations, and the current workspace on `/v1`. */
export function sessionHeaders(method: string, path: string): Record<string, string> {
  const session = cachedSession()
  const headers: Record<string, string> = {}
  if (session && !SAFE_METHODS.has(method)) headers['X-CSRF-Token'] = session.csrfToken
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

/** Returns the body of a successful response, otherwise throws an `ApiError`: `unwrap(client.GET('/v1/models'))`. */
export async function unwrap<T>(pending: PendingResponse<T>): Promise<T> {
  const result = await pending.catch((cause: unknown) => {
    if (isAbort(cause)) throw cause
    suspectConnection()
    throw unreachable(cause)
  })
  if (result.response.ok) return result.data as T
  const error = readApiError(result.response, result.error)
  if (error.kind === 'transport') suspectConnection()
  clearEndedSession(error.status, error.code)
  throw error
}

/** Clears the cached session after a 401, which leads to the sign-in page. A wrong password does not end a session. */
export function clearEndedSession(status: number | undefined, code: string | undefined) {
  if (status === 401 && code !== 'bad_credentials') queryClient.setQueryData(SESSION_KEY, { user: null })
}

const isAbort = (cause: unknown) => cause instanceof DOMException && cause.name === 'AbortError'

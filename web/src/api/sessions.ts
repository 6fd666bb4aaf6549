/** The user's own sessions and password. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'

export type OwnSession = Schemas['OwnSession']

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/sessions', { signal }))).data,
})

export const endSession = (sessionId: string) =>
  unwrap(client.DELETE('/api/sessions/{sessionId}', { params: { path: { sessionId } } }))

export const changePassword = (body: Schemas['NewPassword']) => unwrap(client.PUT('/api/session/password', { body }))

/** One's own sessions and password. */

import { queryOptions } from '@tanstack/react-query'
import { ask, client, type Schemas } from './client'

export type OwnSession = Schemas['OwnSession']

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: async ({ signal }) => (await ask(client.GET('/api/sessions', { signal }))).data,
})

export const endSession = (sessionId: string) =>
  ask(client.DELETE('/api/sessions/{sessionId}', { params: { path: { sessionId } } }))

export const changePassword = (body: Schemas['NewPassword']) => ask(client.PUT('/api/session/password', { body }))

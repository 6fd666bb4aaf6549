/** Names of callers (API keys and members) by id, for views that list calls. */

import { queryOptions } from '@tanstack/react-query'
import { client, unwrap } from './client'

export type Caller = { id: string; name: string }

const MAX_CALLERS = 500

export const callersQuery = (workspaceId: string, organizationId: string) =>
  queryOptions({
    queryKey: ['callers', workspaceId],
    queryFn: async ({ signal }): Promise<Caller[]> => {
      const query = { limit: MAX_CALLERS }
      const keyParams = { path: { workspaceId }, query }
      const memberParams = { path: { organizationId }, query }
      const [keys, members] = await Promise.all([
        unwrap(client.GET('/api/workspaces/{workspaceId}/keys', { params: keyParams, signal })),
        unwrap(client.GET('/api/organizations/{organizationId}/members', { params: memberParams, signal })),
      ])
      const keyCallers = keys.data.map((key) => ({ id: key.id, name: key.name }))
      return [...keyCallers, ...members.data.map((member) => ({ id: member.userId, name: member.email }))]
    },
    staleTime: 60_000,
  })

/** The caller's name, or the id if the key or member no longer exists. */
export const callerName = (callers: readonly Caller[] | undefined, id: string | null | undefined) =>
  callers?.find((caller) => caller.id === id)?.name ?? id ?? 'unknown'

/** Who calls: keys and people by their ids, for whatever lists calls. */

import { queryOptions } from '@tanstack/react-query'
import { ask, client } from './client'

export type Caller = { id: string; name: string }

const MOST = 500

export const callersQuery = (workspaceId: string, organizationId: string) =>
  queryOptions({
    queryKey: ['callers', workspaceId],
    queryFn: async ({ signal }): Promise<Caller[]> => {
      const query = { limit: MOST }
      const ofWorkspace = { path: { workspaceId }, query }
      const ofOrganization = { path: { organizationId }, query }
      const [keys, members] = await Promise.all([
        ask(client.GET('/api/workspaces/{workspaceId}/keys', { params: ofWorkspace, signal })),
        ask(client.GET('/api/organizations/{organizationId}/members', { params: ofOrganization, signal })),
      ])
      const ofKeys = keys.data.map((key) => ({ id: key.id, name: key.name }))
      return [...ofKeys, ...members.data.map((member) => ({ id: member.userId, name: member.email }))]
    },
    staleTime: 60_000,
  })

/** The name of whoever has the id; the id itself for those who are gone. */
export const callerName = (callers: readonly Caller[] | undefined, id: string | null | undefined) =>
  callers?.find((caller) => caller.id === id)?.name ?? id ?? 'nobody'

/** Names of callers (API keys and members) by id, for views that list calls. */

import { queryOptions, useQueries, useQuery } from '@tanstack/react-query'
import { useCallback, useMemo, useRef, useState } from 'react'
import { client, unwrap } from './client'
import { keyQuery, recentKeysQuery } from './keys'

export type Caller = { id: string; name: string }
/** The caller's name, or the id if the key or member no longer exists or is not loaded yet. */
export type CallerNameOf = (id: string | null | undefined) => string

const MAX_CALLERS = 500
const STALE_MS = 60_000

/** Members, and the keys that were used last. */
export const callersQuery = (workspaceId: string, organizationId: string) =>
  queryOptions({
    queryKey: ['callers', workspaceId],
    queryFn: async ({ client: queries, signal }): Promise<Caller[]> => {
      const memberParams = { path: { organizationId }, query: { limit: MAX_CALLERS } }
      const [keys, members] = await Promise.all([
        queries.fetchQuery(recentKeysQuery(workspaceId)),
        unwrap(client.GET('/api/organizations/{organizationId}/members', { params: memberParams, signal })),
      ])
      const keyCallers = keys.map((key) => ({ id: key.id, name: key.name }))
      return [...keyCallers, ...members.data.map((member) => ({ id: member.userId, name: member.email }))]
    },
    staleTime: STALE_MS,
  })

/** Loads other keys one by one when a view asks for their names. */
export function useCallers(workspaceId: string, organizationId: string) {
  const { data: callers, isSuccess } = useQuery(callersQuery(workspaceId, organizationId))
  const [others, setOthers] = useState<readonly string[]>([])
  const asked = useRef(new Set<string>())
  const names = useQueries({
    queries: others.map((id) => ({
      ...keyQuery(workspaceId, id),
      staleTime: STALE_MS,
      refetchInterval: false as const,
    })),
    combine: (found) => found.map(({ data }) => data?.name),
  })
  const known = useMemo(() => new Map(callers?.map(({ id, name }) => [id, name])), [callers])
  const nameOf = useCallback<CallerNameOf>(
    (id) => {
      if (!id) return 'unknown'
      const name = known.get(id) ?? names[others.indexOf(id)]
      if (name === undefined && isSuccess && id.startsWith('key_') && !asked.current.has(id)) {
        asked.current.add(id)
        // Views ask while they render.
        queueMicrotask(() => setOthers((before) => [...before, id]))
      }
      return name ?? id
    },
    [known, names, others, isSuccess],
  )
  return { callers, nameOf }
}

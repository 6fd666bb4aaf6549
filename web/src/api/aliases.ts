/** Aliases of a workspace: other names of models. */

import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'

export type Alias = Schemas['Alias']

export const workspaceAliasesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['aliases', workspaceId],
    queryFn: async ({ signal }) => {
      const params = { path: { workspaceId } }
      return (await unwrap(client.GET('/api/workspaces/{workspaceId}/aliases', { params, signal }))).data
    },
  })

/** Fails with `version_conflict` unless the alias still means `replaces`; null if there was none. */
export const setAlias = (workspaceId: string, { name, model }: Alias, replaces: string | null) =>
  unwrap(
    client.PUT('/api/workspaces/{workspaceId}/aliases/{alias}', {
      params: { path: { workspaceId, alias: name } },
      body: { model, replaces },
    }),
  )

export const deleteAlias = (workspaceId: string, name: string) =>
  unwrap(
    client.DELETE('/api/workspaces/{workspaceId}/aliases/{alias}', { params: { path: { workspaceId, alias: name } } }),
  )

/** The list of models contains aliases, too. */
export function refreshAliases(queries: QueryClient, workspaceId: string) {
  void queries.invalidateQueries({ queryKey: ['models', workspaceId] })
  return queries.invalidateQueries(workspaceAliasesQuery(workspaceId))
}

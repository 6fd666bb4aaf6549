/** The people behind the keys of a workspace, whom calls with trusted keys name. */

import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { tableQuery } from './pages'

export type EndUser = Schemas['EndUser']
export type EndUserSettings = Schemas['EndUserSettings']
export type EndUserEdit = Schemas['EditEndUser']

const SUGGESTIONS = 12

/** Everything about the end users of a workspace, to be loaded again after a change. */
export const endUsersOf = (workspaceId: string) => ({ queryKey: ['end-users', workspaceId] })

const of = (workspaceId: string, endUserId: string) => ({ params: { path: { workspaceId, endUserId } } })

export const endUserTableQuery = (workspaceId: string, search: string) =>
  tableQuery(['end-users', workspaceId], { search }, (query, signal) => {
    const { search, limit, cursor } = query
    const params = { path: { workspaceId }, query: { search, limit, cursor } }
    return unwrap(client.GET('/api/workspaces/{workspaceId}/end-users', { params, signal }))
  })

/** Those whose names have the text, for a list of suggestions. */
export const foundEndUsersQuery = (workspaceId: string, search: string) =>
  queryOptions({
    queryKey: ['end-users', workspaceId, 'found', search],
    queryFn: async ({ signal }) => {
      const params = { path: { workspaceId }, query: { search: search || undefined, limit: SUGGESTIONS } }
      return (await unwrap(client.GET('/api/workspaces/{workspaceId}/end-users', { params, signal }))).data
    },
    placeholderData: keepPreviousData,
  })

/** With what was spent of the budgets that apply. */
export const endUserQuery = (workspaceId: string, endUserId: string) =>
  queryOptions({
    queryKey: ['end-users', workspaceId, 'one', endUserId],
    queryFn: ({ signal }) =>
      unwrap(
        client.GET('/api/workspaces/{workspaceId}/end-users/{endUserId}', { ...of(workspaceId, endUserId), signal }),
      ),
  })

/** Null follows the workspace. */
export const editEndUser = (workspaceId: string, endUserId: string, body: EndUserEdit) =>
  unwrap(client.PATCH('/api/workspaces/{workspaceId}/end-users/{endUserId}', { ...of(workspaceId, endUserId), body }))

/** Their usage stays in all sums. */
export const deleteEndUser = (workspaceId: string, endUserId: string) =>
  unwrap(client.DELETE('/api/workspaces/{workspaceId}/end-users/{endUserId}', of(workspaceId, endUserId)))

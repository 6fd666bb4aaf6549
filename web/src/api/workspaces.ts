/** Workspaces, and what is left of their limits. */

import { queryOptions } from '@tanstack/react-query'
import { ask, client } from './client'

export const createWorkspace = (name: string) => ask(client.POST('/api/workspaces', { body: { name } }))

export const quotaQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['quota', workspaceId],
    queryFn: ({ signal }) =>
      ask(client.GET('/api/workspaces/{workspaceId}/quota', { params: { path: { workspaceId } }, signal })),
  })

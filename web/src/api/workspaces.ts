/** Workspaces, and what is left of their limits. */

import { queryOptions } from '@tanstack/react-query'
import { ask, client, type Schemas } from './client'

export const createWorkspace = (name: string) => ask(client.POST('/api/workspaces', { body: { name } }))

export const quotaQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['quota', workspaceId],
    queryFn: ({ signal }) =>
      ask(client.GET('/api/workspaces/{workspaceId}/quota', { params: { path: { workspaceId } }, signal })),
  })

export type Workspace = Schemas['Workspace']
export type WorkspaceEdit = Schemas['WorkspaceEdit']

export const workspaceQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspace', workspaceId],
    queryFn: ({ signal }) =>
      ask(client.GET('/api/workspaces/{workspaceId}', { params: { path: { workspaceId } }, signal })),
  })

export const changeWorkspace = (workspaceId: string, body: WorkspaceEdit) =>
  ask(client.PATCH('/api/workspaces/{workspaceId}', { params: { path: { workspaceId } }, body }))

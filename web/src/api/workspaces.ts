/** Workspaces, their limits and quota. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'

export const createWorkspace = (name: string) => unwrap(client.POST('/api/workspaces', { body: { name } }))

export const quotaQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['quota', workspaceId],
    queryFn: ({ signal }) =>
      unwrap(client.GET('/api/workspaces/{workspaceId}/quota', { params: { path: { workspaceId } }, signal })),
  })

export type Workspace = Schemas['Workspace']
export type WorkspaceEdit = Schemas['WorkspaceEdit']

export const workspaceQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspace', workspaceId],
    queryFn: ({ signal }) =>
      unwrap(client.GET('/api/workspaces/{workspaceId}', { params: { path: { workspaceId } }, signal })),
  })

export const changeWorkspace = (workspaceId: string, body: WorkspaceEdit) =>
  unwrap(client.PATCH('/api/workspaces/{workspaceId}', { params: { path: { workspaceId } }, body }))

/** Workspaces, their limits and quota. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { everyPage } from './pages'

export const createWorkspace = (name: string) => unwrap(client.POST('/api/workspaces', { body: { name } }))

/** The workspaces of the current organization that the user may see. */
export const workspacesQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['workspaces', organizationId],
    queryFn: ({ signal }) => everyPage((query) => unwrap(client.GET('/api/workspaces', { params: { query }, signal }))),
  })

/** Its keys stop working at once; its usage and bills stay. */
export const deleteWorkspace = (workspaceId: string) =>
  unwrap(
    client.DELETE('/api/workspaces/{workspaceId}', { params: { path: { workspaceId }, query: { revokeKeys: true } } }),
  )

export type Quota = Schemas['Quota']

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

/** API keys of a workspace. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { everyPage } from './pages'
import { polled } from './polling'

export type Key = Schemas['Key']
export type NewKey = Schemas['NewKey']

const POLL_MS = 10_000

const withKey = (workspaceId: string, keyId: string) => ({ params: { path: { workspaceId, keyId } } })

export const keysQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['keys', workspaceId],
    queryFn: ({ signal }) =>
      everyPage((query) =>
        unwrap(client.GET('/api/workspaces/{workspaceId}/keys', { params: { path: { workspaceId }, query }, signal })),
      ),
    ...polled(POLL_MS),
  })

export const createKey = (workspaceId: string, body: NewKey) =>
  unwrap(client.POST('/api/workspaces/{workspaceId}/keys', { params: { path: { workspaceId } }, body }))

export const rotateKey = (workspaceId: string, keyId: string, overlapSeconds: number) =>
  unwrap(
    client.POST('/api/workspaces/{workspaceId}/keys/{keyId}/rotate', {
      ...withKey(workspaceId, keyId),
      body: { overlapSeconds },
    }),
  )

export const disableKey = (workspaceId: string, keyId: string) =>
  unwrap(client.POST('/api/workspaces/{workspaceId}/keys/{keyId}/disable', withKey(workspaceId, keyId)))

export const enableKey = (workspaceId: string, keyId: string) =>
  unwrap(client.POST('/api/workspaces/{workspaceId}/keys/{keyId}/enable', withKey(workspaceId, keyId)))

export const revokeKey = (workspaceId: string, keyId: string) =>
  unwrap(client.DELETE('/api/workspaces/{workspaceId}/keys/{keyId}', withKey(workspaceId, keyId)))

/** API keys of a workspace or an organization. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { everyPage } from './pages'
import { polled } from './polling'

export type Key = Schemas['Key']
export type NewKey = Schemas['NewKey']
export type OrganizationKey = Schemas['OrganizationKey']

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

/** The keys that a user created in any workspace of the organization; for administrators. */
export const keysOfUserQuery = (organizationId: string, userId: string) =>
  queryOptions({
    queryKey: ['keys', organizationId, 'created by', userId],
    queryFn: ({ signal }) =>
      everyPage((page) =>
        unwrap(
          client.GET('/api/organizations/{organizationId}/keys', {
            params: { path: { organizationId }, query: { ...page, createdBy: userId } },
            signal,
          }),
        ),
      ),
  })

/** Revokes keys of the organization together: all or none. */
export const revokeKeys = (organizationId: string, keyIds: string[]) =>
  unwrap(
    client.POST('/api/organizations/{organizationId}/keys/revoke', {
      params: { path: { organizationId } },
      body: { keyIds },
    }),
  )

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

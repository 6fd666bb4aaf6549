/** API keys of a workspace or an organization. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { everyPage } from './pages'
import { polled } from './polling'

export type Key = Schemas['Key']
export type NewKey = Schemas['NewKey']
export type KeyEdit = Schemas['EditKey']
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

/** The keys of all workspaces of the organization; for administrators. */
export const keysOfOrganizationQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['keys', organizationId, 'all'],
    queryFn: ({ signal }) =>
      everyPage((query) =>
        unwrap(
          client.GET('/api/organizations/{organizationId}/keys', {
            params: { path: { organizationId }, query },
            signal,
          }),
        ),
      ),
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

/** Revokes keys of the organization together. Disabled ones are revoked, too: the dialogs say that they are. */
export const revokeKeys = (organizationId: string, keyIds: string[]) =>
  unwrap(
    client.POST('/api/organizations/{organizationId}/keys/revoke', {
      params: { path: { organizationId } },
      body: { keyIds, includeDisabled: true },
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

export const editKey = (workspaceId: string, keyId: string, body: KeyEdit) =>
  unwrap(client.PATCH('/api/workspaces/{workspaceId}/keys/{keyId}', { ...withKey(workspaceId, keyId), body }))

/** Ends the secret before the last rotation, which works beside the new one for a while. */
export const endOverlap = (workspaceId: string, keyId: string) =>
  unwrap(client.POST('/api/workspaces/{workspaceId}/keys/{keyId}/end-overlap', withKey(workspaceId, keyId)))

export const disableKey = (workspaceId: string, keyId: string) =>
  unwrap(client.POST('/api/workspaces/{workspaceId}/keys/{keyId}/disable', withKey(workspaceId, keyId)))

export const enableKey = (workspaceId: string, keyId: string) =>
  unwrap(client.POST('/api/workspaces/{workspaceId}/keys/{keyId}/enable', withKey(workspaceId, keyId)))

export const revokeKey = (workspaceId: string, keyId: string) =>
  unwrap(client.DELETE('/api/workspaces/{workspaceId}/keys/{keyId}', withKey(workspaceId, keyId)))

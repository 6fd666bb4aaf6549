/** API keys of a workspace or an organization. */

import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { everyPage, type ListQuery, tableQuery } from './pages'
import { polled } from './polling'

export type Key = Schemas['Key']
export type ListedKey = Schemas['ListedKey']
export type NewKey = Schemas['NewKey']
export type KeyEdit = Schemas['EditKey']
export type ModelLimit = Schemas['ModelLimit']
export type Budget = Schemas['Budget']
export type BudgetSpending = Schemas['BudgetSpending']
export type KeyWithSpending = Schemas['KeyWithSpending']
export type OrganizationKey = Schemas['OrganizationKey']

export const POLL_MS = 10_000
const SUGGESTIONS = 12
const MAX_RECENT = 500
const RECENT_STALE_MS = 60_000
/** The most that one request revokes. */
const MAX_REVOKED = 500

const withKey = (workspaceId: string, keyId: string) => ({ params: { path: { workspaceId, keyId } } })

/** Everything about the keys of a workspace, to be loaded again after a change. */
export const keysOf = (workspaceId: string) => ({ queryKey: ['keys', workspaceId] })

/** A key with what was spent of its budgets. */
export const keyQuery = (workspaceId: string, keyId: string) =>
  queryOptions({
    queryKey: ['keys', workspaceId, 'one', keyId],
    queryFn: async ({ signal }) => {
      const key = client.GET('/api/workspaces/{workspaceId}/keys/{keyId}', { ...withKey(workspaceId, keyId), signal })
      return (await unwrap(key)) as KeyWithSpending
    },
    ...polled(POLL_MS),
  })

/** Which keys a table shows; `counted` ones are active or disabled. */
export type KeySelection = { counted?: boolean; createdBy?: string; removedMembers?: boolean }

const pageOfKeys = (
  workspaceId: string,
  query: KeySelection & ListQuery & { limit: number; cursor?: string; count?: boolean },
  signal?: AbortSignal,
) => unwrap(client.GET('/api/workspaces/{workspaceId}/keys', { params: { path: { workspaceId }, query }, signal }))

export const keyTableQuery = (workspaceId: string, selection: KeySelection, list: ListQuery) =>
  tableQuery(['keys', workspaceId, selection], list, (query, signal) =>
    pageOfKeys(workspaceId, { ...selection, ...query }, signal),
  )

/** The number of all keys, and of those that count towards the limit. */
export const keyCountsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['keys', workspaceId, 'counts'],
    queryFn: async ({ signal }) => {
      const count = async (counted?: boolean) =>
        (await pageOfKeys(workspaceId, { counted, limit: 1, count: true }, signal)).total ?? 0
      const [all, counted] = await Promise.all([count(), count(true)])
      return { all, counted }
    },
    ...polled(POLL_MS),
  })

/** The keys that were used last, for views of which a thousand more would change nothing. */
export const recentKeysQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['keys', workspaceId, 'recent'],
    queryFn: async ({ signal }) =>
      (await pageOfKeys(workspaceId, { sort: '-lastUsedAt', limit: MAX_RECENT }, signal)).data,
    staleTime: RECENT_STALE_MS,
  })

/** The labels by which usage can be grouped, with their values. */
export const keyLabelsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['keys', workspaceId, 'labels'],
    queryFn: async ({ signal }) => {
      const params = { path: { workspaceId } }
      return (await unwrap(client.GET('/api/workspaces/{workspaceId}/key-labels', { params, signal }))).data
    },
    staleTime: RECENT_STALE_MS,
  })

/** All selected keys. */
export const selectedKeysQuery = (workspaceId: string, selection: KeySelection) =>
  queryOptions({
    queryKey: ['keys', workspaceId, selection, 'all'],
    queryFn: ({ signal }) => everyPage((page) => pageOfKeys(workspaceId, { ...selection, ...page }, signal)),
  })

/** Keys whose names have the text, for a list of suggestions. */
export const foundKeysQuery = (workspaceId: string, search: string) =>
  queryOptions({
    queryKey: ['keys', workspaceId, 'found', search],
    queryFn: async ({ signal }) => (await pageOfKeys(workspaceId, { search, limit: SUGGESTIONS }, signal)).data,
    placeholderData: keepPreviousData,
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
export async function revokeKeys(organizationId: string, keyIds: string[]) {
  for (let first = 0; first < keyIds.length; first += MAX_REVOKED) {
    const body = { keyIds: keyIds.slice(first, first + MAX_REVOKED), includeDisabled: true }
    const params = { path: { organizationId } }
    await unwrap(client.POST('/api/organizations/{organizationId}/keys/revoke', { params, body }))
  }
}

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

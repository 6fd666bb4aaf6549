/** Every organization with its people, for the operator. */

import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { everyPage, type ListQuery, tableQuery } from '../pages'

export type OperatorOrganization = Schemas['OperatorOrganization']
export type OrganizationEdit = Schemas['OrganizationEdit']
export type OrganizationMember = Schemas['Member']
export type Role = Schemas['Role']
export type Workspace = Schemas['Workspace']
export type WorkspaceEdit = Schemas['WorkspaceEdit']

const KEY = ['operator', 'organizations'] as const
const SUGGESTIONS = 12
const at = (organizationId: string) => ({ params: { path: { organizationId } } })

export const organizationTableQuery = (list: ListQuery) =>
  tableQuery(KEY, list, (query, signal) =>
    unwrap(client.GET('/api/operator/organizations', { params: { query }, signal })),
  )

/** The names of all organizations. */
export const organizationNamesQuery = queryOptions({
  queryKey: [...KEY, 'names'],
  queryFn: ({ signal }) =>
    everyPage((query) => unwrap(client.GET('/api/organizations', { params: { query }, signal }))),
})

/** Organizations whose names have the text, for a list of suggestions. */
export const foundOrganizationsQuery = (search: string) =>
  queryOptions({
    queryKey: [...KEY, 'found', search],
    queryFn: async ({ signal }) => {
      const query = { search, limit: SUGGESTIONS }
      return (await unwrap(client.GET('/api/operator/organizations', { params: { query }, signal }))).data
    },
    placeholderData: keepPreviousData,
  })

export const organizationQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [...KEY, organizationId],
    queryFn: ({ signal }) =>
      unwrap(client.GET('/api/operator/organizations/{organizationId}', { ...at(organizationId), signal })),
  })

export const organizationMembersQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [...KEY, organizationId, 'members'],
    queryFn: ({ signal }) =>
      everyPage((query) =>
        unwrap(
          client.GET('/api/operator/organizations/{organizationId}/members', {
            params: { path: { organizationId }, query },
            signal,
          }),
        ),
      ),
  })

export const organizationWorkspacesQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [...KEY, organizationId, 'workspaces'],
    queryFn: ({ signal }) =>
      everyPage((query) =>
        unwrap(
          client.GET('/api/operator/organizations/{organizationId}/workspaces', {
            params: { path: { organizationId }, query },
            signal,
          }),
        ),
      ),
  })

/** Creates a workspace of which the operator is not a member. */
export const createWorkspaceOf = (organizationId: string, name: string) =>
  unwrap(
    client.POST('/api/operator/organizations/{organizationId}/workspaces', { ...at(organizationId), body: { name } }),
  )

export const inviteTo = (organizationId: string, body: Schemas['NewInvitation']) =>
  unwrap(client.POST('/api/operator/organizations/{organizationId}/invitations', { ...at(organizationId), body }))

/** Limits of null restore the configured defaults. */
export const changeAnyWorkspace = (workspaceId: string, body: WorkspaceEdit) =>
  unwrap(client.PATCH('/api/operator/workspaces/{workspaceId}', { params: { path: { workspaceId } }, body }))

export const renameOrganization = (organizationId: string, name: string) =>
  unwrap(client.PATCH('/api/operator/organizations/{organizationId}', { ...at(organizationId), body: { name } }))

/** Bounds of null restore the default. */
export const boundOrganization = (organizationId: string, body: OrganizationEdit) =>
  unwrap(client.PATCH('/api/operator/organizations/{organizationId}', { ...at(organizationId), body }))

export const deleteOrganization = (organizationId: string) =>
  unwrap(client.DELETE('/api/organizations/{organizationId}', at(organizationId)))

const ofMember = (organizationId: string, userId: string) => ({ params: { path: { organizationId, userId } } })

/** Adds a user to an organization, or changes their role. */
export const putMember = (organizationId: string, userId: string, role: Role) =>
  unwrap(
    client.PUT('/api/operator/organizations/{organizationId}/members/{userId}', {
      ...ofMember(organizationId, userId),
      body: { role },
    }),
  )

export const removeOrganizationMember = (organizationId: string, userId: string) =>
  unwrap(
    client.DELETE('/api/operator/organizations/{organizationId}/members/{userId}', ofMember(organizationId, userId)),
  )

/** `allotment` null restores the platform's default. */
export const setAllotment = (organizationId: string, gpuType: string, allotment: number | null) =>
  unwrap(
    client.PUT('/api/organizations/{organizationId}/allotments/{gpuType}', {
      params: { path: { organizationId, gpuType } },
      body: { allotment },
    }),
  )

/** The session lists organizations, too. */
export function refreshOrganizations(queries: QueryClient) {
  void queries.invalidateQueries({ queryKey: ['session'] })
  return queries.invalidateQueries({ queryKey: KEY })
}

/** The page of a deleted organization is still shown for a moment, and must not ask for it again. */
export function refreshAfterDelete(queries: QueryClient) {
  void queries.invalidateQueries({ queryKey: ['session'] })
  return queries.invalidateQueries({ queryKey: KEY, refetchType: 'none' })
}

/** Members of an organization, and invitations to it. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { everyPage } from './pages'

export type Member = Schemas['Member']
export type Role = Schemas['Role']
export type Invitation = Schemas['Invitation']

const inOrganization = (organizationId: string) => ({ params: { path: { organizationId } } })
const ofUser = (organizationId: string, userId: string) => ({ params: { path: { organizationId, userId } } })
const inWorkspace = (workspaceId: string, userId: string) => ({ params: { path: { workspaceId, userId } } })

export const membersQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['members', organizationId],
    queryFn: ({ signal }) =>
      everyPage((query) =>
        unwrap(
          client.GET('/api/organizations/{organizationId}/members', {
            params: { path: { organizationId }, query },
            signal,
          }),
        ),
      ),
  })

export const setRole = (organizationId: string, userId: string, role: Role) =>
  unwrap(
    client.PATCH('/api/organizations/{organizationId}/members/{userId}', {
      ...ofUser(organizationId, userId),
      body: { role },
    }),
  )

/** Removes a member; with `revokeKeys`, the keys they created in the organization end, too. */
export const removeMember = (organizationId: string, userId: string, revokeKeys: boolean) =>
  unwrap(
    client.DELETE('/api/organizations/{organizationId}/members/{userId}', {
      params: { path: { organizationId, userId }, query: { revokeKeys } },
    }),
  )

export const addToWorkspace = (workspaceId: string, userId: string) =>
  unwrap(client.PUT('/api/workspaces/{workspaceId}/members/{userId}', inWorkspace(workspaceId, userId)))

export const removeFromWorkspace = (workspaceId: string, userId: string) =>
  unwrap(client.DELETE('/api/workspaces/{workspaceId}/members/{userId}', inWorkspace(workspaceId, userId)))

export const invitationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['invitations', organizationId],
    queryFn: ({ signal }) =>
      everyPage((query) =>
        unwrap(
          client.GET('/api/organizations/{organizationId}/invitations', {
            params: { path: { organizationId }, query },
            signal,
          }),
        ),
      ),
  })

export const invite = (organizationId: string, body: Schemas['NewInvitation']) =>
  unwrap(client.POST('/api/organizations/{organizationId}/invitations', { ...inOrganization(organizationId), body }))

export const withdrawInvitation = (organizationId: string, invitationId: string) =>
  unwrap(
    client.DELETE('/api/organizations/{organizationId}/invitations/{invitationId}', {
      params: { path: { organizationId, invitationId } },
    }),
  )

/** `token` is the fragment of the invitation link. */
export const previewInvitation = (token: string) => unwrap(client.POST('/api/invitations/preview', { body: { token } }))

export const acceptInvitation = (body: Schemas['Acceptance']) =>
  unwrap(client.POST('/api/invitations/accept', { body }))

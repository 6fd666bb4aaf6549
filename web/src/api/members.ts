/** People of an organization, and invitations to it. */

import { queryOptions } from '@tanstack/react-query'
import { ask, client, type Schemas } from './client'
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
        ask(
          client.GET('/api/organizations/{organizationId}/members', {
            params: { path: { organizationId }, query },
            signal,
          }),
        ),
      ),
  })

export const setRole = (organizationId: string, userId: string, role: Role) =>
  ask(
    client.PATCH('/api/organizations/{organizationId}/members/{userId}', {
      ...ofUser(organizationId, userId),
      body: { role },
    }),
  )

export const removeMember = (organizationId: string, userId: string) =>
  ask(client.DELETE('/api/organizations/{organizationId}/members/{userId}', ofUser(organizationId, userId)))

export const putIntoWorkspace = (workspaceId: string, userId: string) =>
  ask(client.PUT('/api/workspaces/{workspaceId}/members/{userId}', inWorkspace(workspaceId, userId)))

export const takeOutOfWorkspace = (workspaceId: string, userId: string) =>
  ask(client.DELETE('/api/workspaces/{workspaceId}/members/{userId}', inWorkspace(workspaceId, userId)))

export const invitationsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['invitations', organizationId],
    queryFn: ({ signal }) =>
      everyPage((query) =>
        ask(
          client.GET('/api/organizations/{organizationId}/invitations', {
            params: { path: { organizationId }, query },
            signal,
          }),
        ),
      ),
  })

export const invite = (organizationId: string, body: Schemas['NewInvitation']) =>
  ask(client.POST('/api/organizations/{organizationId}/invitations', { ...inOrganization(organizationId), body }))

export const withdrawInvitation = (organizationId: string, invitationId: string) =>
  ask(
    client.DELETE('/api/organizations/{organizationId}/invitations/{invitationId}', {
      params: { path: { organizationId, invitationId } },
    }),
  )

/** `token` is what follows `#` in the link. */
export const previewInvitation = (token: string) => ask(client.POST('/api/invitations/preview', { body: { token } }))

export const acceptInvitation = (body: Schemas['Acceptance']) => ask(client.POST('/api/invitations/accept', { body }))

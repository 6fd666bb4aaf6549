/** Who is signed in, and where they act. */

import { queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { ask, client, type Schemas, SESSION_KEY } from './client'

export type Session = Schemas['Session']
export type SignedIn = Schemas['SignedIn']

export const isSignedIn = (session: Session | undefined): session is SignedIn => !!session && 'csrfToken' in session

export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: ({ signal }) => ask(client.GET('/api/session', { signal })),
  staleTime: 30_000,
  // Another tab may have signed out or moved to another workspace.
  refetchOnWindowFocus: 'always',
})

export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => ask(client.GET('/api/sign-in-methods', { signal })),
  staleTime: Number.POSITIVE_INFINITY,
})

export const signIn = (credentials: Schemas['Credentials']) => ask(client.POST('/api/session', { body: credentials }))
export const signOut = () => ask(client.DELETE('/api/session'))
export const chooseContext = (context: Schemas['Context']) => ask(client.PUT('/api/session/context', { body: context }))

/** Takes over a session that the API has just answered with; nothing of the one before stays. */
export function useTakeSession() {
  const queries = useQueryClient()
  return (session: Session) => {
    queries.setQueryData(SESSION_KEY, session)
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== SESSION_KEY[0] })
  }
}

/** Where a signed-in user acts, and what they are there. */
export type Place = {
  session: SignedIn
  organization: SignedIn['organizations'][number] | undefined
  workspace: SignedIn['workspaces'][number] | undefined
  /** Administrator of the current organization; the operator is one everywhere. */
  isAdmin: boolean
  isOperator: boolean
}

export function placeOf(session: SignedIn): Place {
  const organization = session.organizations.find((one) => one.id === session.currentOrganizationId)
  const isOperator = session.user.operator
  return {
    session,
    organization,
    workspace: session.workspaces.find((one) => one.id === session.currentWorkspaceId),
    isAdmin: isOperator || organization?.role === 'admin',
    isOperator,
  }
}

/** The session of a page inside the shell, which shows none to those signed out. */
export function usePlace(): Place {
  const { data } = useSuspenseQuery(sessionQuery)
  if (!isSignedIn(data)) throw new Error('a page of the console was shown without a session')
  return placeOf(data)
}

/** The workspace of a page that stands behind `needs: 'workspace'`. */
export function useWorkspace() {
  const { workspace } = usePlace()
  if (!workspace) throw new Error('a page that needs a workspace was shown without one')
  return workspace
}

/** The organization of a page that stands behind `needs: 'organization'`. */
export function useOrganization() {
  const { organization } = usePlace()
  if (!organization) throw new Error('a page that needs an organization was shown without one')
  return organization
}

/** The session: the signed-in user, and the current organization and workspace. */

import { queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { client, type Schemas, SESSION_KEY, unwrap } from './client'

export type Session = Schemas['Session']
export type SignedIn = Schemas['SignedIn']

export const isSignedIn = (session: Session | undefined): session is SignedIn => !!session && 'csrfToken' in session

export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: ({ signal }) => unwrap(client.GET('/api/session', { signal })),
  staleTime: 30_000,
  // Another tab may have signed out or switched workspaces.
  refetchOnWindowFocus: 'always',
})

export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => unwrap(client.GET('/api/sign-in-methods', { signal })),
  staleTime: Number.POSITIVE_INFINITY,
})

export const signIn = (credentials: Schemas['Credentials']) =>
  unwrap(client.POST('/api/session', { body: credentials }))
export const signOut = () => unwrap(client.DELETE('/api/session'))
export const chooseContext = (context: Schemas['Context']) =>
  unwrap(client.PUT('/api/session/context', { body: context }))

/** Replaces the session with one the API has just returned and drops everything cached for the previous one. */
export function useReplaceSession() {
  const queries = useQueryClient()
  return (session: Session) => {
    queries.setQueryData(SESSION_KEY, session)
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== SESSION_KEY[0] })
  }
}

/** The current organization and workspace of the signed-in user, and their role. */
export type SessionContext = {
  session: SignedIn
  organization: SignedIn['organizations'][number] | undefined
  workspace: SignedIn['workspaces'][number] | undefined
  /** Administrator of the current organization; the operator is one everywhere. */
  isAdmin: boolean
  isOperator: boolean
}

export function sessionContextOf(session: SignedIn): SessionContext {
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

/** For pages inside the shell, which are only shown to signed-in users. */
export function useSessionContext(): SessionContext {
  const { data } = useSuspenseQuery(sessionQuery)
  if (!isSignedIn(data)) throw new Error('a page of the console was shown without a session')
  return sessionContextOf(data)
}

/** For pages with `needs: 'workspace'`. */
export function useWorkspace() {
  const { workspace } = useSessionContext()
  if (!workspace) throw new Error('a page that needs a workspace was shown without one')
  return workspace
}

/** For pages with `needs: 'organization'`. */
export function useOrganization() {
  const { organization } = useSessionContext()
  if (!organization) throw new Error('a page that needs an organization was shown without one')
  return organization
}

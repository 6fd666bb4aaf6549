import { describe, expect, it } from 'vitest'
import { type SignedIn, sessionContextOf } from '../api/session'
import { missingContext } from './missing-context'

const session = (change: Partial<SignedIn>): SignedIn => ({
  user: { id: 'usr_1', email: 'ada@example.com', operator: false },
  organizations: [{ id: 'org_1', name: 'Acme', role: 'member' }],
  workspaces: [{ id: 'ws_1', organizationId: 'org_1', name: 'Research' }],
  currentOrganizationId: 'org_1',
  currentWorkspaceId: 'ws_1',
  csrfToken: 'x',
  ...change,
})
const missing = (needs: Parameters<typeof missingContext>[0], change: Partial<SignedIn> = {}) =>
  missingContext(needs, sessionContextOf(session(change)))

describe('the missing context of a page', () => {
  it('is undefined if everything is selected', () => expect(missing('workspace')).toBeUndefined())
  it('is the organization if neither is selected', () =>
    expect(missing('workspace', { currentOrganizationId: null, currentWorkspaceId: null })).toBe('organization'))
  it('is the workspace if only that is not selected', () => {
    expect(missing('workspace', { currentWorkspaceId: null })).toBe('workspace')
    expect(missing('organization', { currentWorkspaceId: null })).toBeUndefined()
  })
  it('is undefined for a page that needs none', () =>
    expect(missing(undefined, { currentOrganizationId: null })).toBeUndefined())
})

describe('the role of a user', () => {
  it('depends on the current organization', () => {
    expect(sessionContextOf(session({})).isAdmin).toBe(false)
    expect(sessionContextOf(session({ organizations: [{ id: 'org_1', name: 'Acme', role: 'admin' }] })).isAdmin).toBe(
      true,
    )
  })
  it('is administrator for the operator in every organization', () =>
    expect(sessionContextOf(session({ user: { id: 'usr_1', email: 'o', operator: true } })).isAdmin).toBe(true))
})

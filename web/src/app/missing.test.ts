import { describe, expect, it } from 'vitest'
import { placeOf, type SignedIn } from '../api/session'
import { missingFor } from './missing'

const session = (change: Partial<SignedIn>): SignedIn => ({
  user: { id: 'usr_1', email: 'ada@example.com', operator: false },
  organizations: [{ id: 'org_1', name: 'Acme', role: 'member' }],
  workspaces: [{ id: 'ws_1', organizationId: 'org_1', name: 'Research' }],
  currentOrganizationId: 'org_1',
  currentWorkspaceId: 'ws_1',
  csrfToken: 'x',
  ...change,
})
const missing = (needs: Parameters<typeof missingFor>[0], change: Partial<SignedIn> = {}) =>
  missingFor(needs, placeOf(session(change)))

describe('what a page still needs', () => {
  it('is nothing where all is chosen', () => expect(missing('workspace')).toBeUndefined())
  it('is the organization before the workspace', () =>
    expect(missing('workspace', { currentOrganizationId: null, currentWorkspaceId: null })).toBe('organization'))
  it('is the workspace alone', () => {
    expect(missing('workspace', { currentWorkspaceId: null })).toBe('workspace')
    expect(missing('organization', { currentWorkspaceId: null })).toBeUndefined()
  })
  it('is nothing for a page that needs nothing', () =>
    expect(missing(undefined, { currentOrganizationId: null })).toBeUndefined())
})

describe('what somebody is', () => {
  it('depends on the organization they act in', () => {
    expect(placeOf(session({})).isAdmin).toBe(false)
    expect(placeOf(session({ organizations: [{ id: 'org_1', name: 'Acme', role: 'admin' }] })).isAdmin).toBe(true)
  })
  it('is administrator everywhere for the operator', () =>
    expect(placeOf(session({ user: { id: 'usr_1', email: 'o', operator: true } })).isAdmin).toBe(true))
})

// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import { Suspense } from 'react'
import { expect, it } from 'vitest'
import { readApiError } from '../../../api/errors'
import { fakeApi, renderInConsole } from '../../../testing'
import { EndpointErrorPanel } from './EndpointErrorPanel'

const response = { status: 409, headers: new Headers(), url: 'http://localhost/v1/endpoints' }
const remediation = 'http://localhost/docs/allotments'
const numbers = { gpuType: 'nvidia/h100-sxm-80gb', allotment: 16, committed: 8, projected: 24, need: 8, remediation }
const error = readApiError(response, {
  title: 'x',
  detail: 'too many',
  extensions: { code: 'GPU_ALLOTMENT_EXCEEDED', ...numbers },
})

const session = {
  user: { id: 'usr_1', email: 'ada@example.com', operator: false },
  organizations: [{ id: 'org_1', name: 'Acme', role: 'admin' }],
  workspaces: [{ id: 'ws_1', organizationId: 'org_1', name: 'Research' }],
  currentOrganizationId: 'org_1',
  currentWorkspaceId: 'ws_1',
  csrfToken: 'x',
}

function renderPanel(endpoint?: string) {
  fakeApi(({ path }) => ({ body: path === '/api/session' ? session : { data: [] } }))
  renderInConsole(
    <Suspense>
      <EndpointErrorPanel error={error} gpuCount={4} except={endpoint} />
    </Suspense>,
  )
}

it('names the remedies on create: fewer replicas, or a smaller flavor (SPEC 7.4)', async () => {
  renderPanel()
  await screen.findByText('Use fewer replicas: up to 2 more replicas fit.')
  expect(screen.getByText('Choose a smaller flavor, with fewer GPUs per replica.')).toBeTruthy()
  expect(screen.getByRole('link', { name: 'How the allotment works' }).getAttribute('href')).toBe(remediation)
})

it('names no smaller flavor for an endpoint, whose flavor is fixed (SPEC 7.4)', async () => {
  renderPanel('chat')
  await screen.findByRole('link', { name: 'How the allotment works' })
  expect(screen.queryByText(/smaller flavor/)).toBeNull()
})

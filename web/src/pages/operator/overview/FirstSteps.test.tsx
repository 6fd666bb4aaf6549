// @vitest-environment jsdom
import { useIsFetching } from '@tanstack/react-query'
import { screen, waitFor } from '@testing-library/react'
import { Suspense } from 'react'
import { expect, it, vi } from 'vitest'
import { fakeApi, renderInConsole } from '../../../testing'
import { FirstSteps } from './FirstSteps'

vi.mock('@tanstack/react-router', () => ({ useRouter: () => ({ history: { push: () => {} } }) }))

const SESSION = { csrfToken: 'token', user: { operator: true }, organizations: [], workspaces: [] }
const LINE = { name: 'chat-backend', requests: 7 }

/** Shows the steps; `usage` has one list per time span that is read, and nothing if it cannot be read. */
function show(usage: object[][]) {
  const lists = [...usage]
  const calls = fakeApi(({ path }) => {
    if (path === '/api/session') return { body: SESSION }
    if (path === '/api/operator/catalogue') return { body: { writable: false } }
    if (path === '/api/operator/models') return { body: { data: [] } }
    const data = path === '/api/operator/usage' ? lists.shift() : undefined
    return data && { body: { data } }
  })
  renderInConsole(
    <Suspense>
      <FirstSteps />
      <Loaded />
    </Suspense>,
  )
  return async (count: number) => {
    await waitFor(() => expect(calls.filter(({ path }) => path === '/api/operator/usage')).toHaveLength(count))
    await screen.findByText('Loaded')
  }
}

const Loaded = () => (useIsFetching() ? null : 'Loaded')

const steps = () => screen.queryByRole('region', { name: 'First steps' })

it('are shown while there was no call', async () => {
  show([[], []])
  const card = (await screen.findByText('Connect a model')).closest('li')
  expect(card?.textContent).toContain('Step 1')
})

it('stay away after the first call, however long ago it was', async () => {
  const read = show([[], [LINE]])
  await read(2)
  expect(steps()).toBeNull()
})

it('stay away while it is not known whether there was a call', async () => {
  const read = show([])
  await read(1)
  expect(steps()).toBeNull()
})

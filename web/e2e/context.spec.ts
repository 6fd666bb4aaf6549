import { mutate } from './api'
import { expect, follow, forebay, loaded, signInAs, test } from './fixtures'
import { PAGES } from './pages'

test('the switcher changes the workspace permanently', async ({ signedOut }) => {
  await signInAs(signedOut, forebay())
  const name = `Research ${Date.now()}`
  await mutate(signedOut.request, 'POST', '/api/workspaces', { name })

  await signedOut.goto('/models')
  await signedOut.getByRole('button', { name: /^Switch organization or workspace/ }).click()
  await signedOut.getByRole('menuitem', { name }).click()
  await expect(
    signedOut.getByRole('button', { name: `Switch organization or workspace. Workspace ${name}` }),
  ).toBeVisible()
  await loaded(signedOut)
  await signedOut.reload()
  await expect(
    signedOut.getByRole('button', { name: `Switch organization or workspace. Workspace ${name}` }),
  ).toBeVisible()
})

test('a member without a workspace sees whom to ask, and no request is rejected', async ({ page, signedOut }) => {
  const email = `new-${Date.now()}@example.com`
  const password = 'a password of some length'
  const account = { email, password, organizationId: forebay().organizationId, role: 'member' }
  await mutate(page.request, 'POST', '/api/users', account)

  const rejected: string[] = []
  signedOut.on(
    'response',
    (response) => response.status() >= 400 && rejected.push(`${response.status()} ${response.url()}`),
  )
  await signInAs(signedOut, { email, password })
  await signedOut.goto('/models')
  await loaded(signedOut)
  for (const path of ['/settings', '/members', '/keys']) await follow(signedOut, path)
  await expect(signedOut.getByRole('heading', { name: 'You are not in a workspace yet' })).toBeVisible()
  await follow(signedOut, '/audit')
  await expect(signedOut.getByRole('heading', { name: 'The audit log is for administrators' })).toBeVisible()
  expect(rejected).toEqual([])
})

test('a member of an empty workspace opens every page without a rejected request', async ({ page, signedOut }) => {
  test.slow() // every page
  const email = `member-${Date.now()}@example.com`
  const password = 'a password of some length'
  const account = { email, password, organizationId: forebay().organizationId, role: 'member' }
  const { id: userId } = await mutate(page.request, 'POST', '/api/users', account)
  const workspace = await mutate(page.request, 'POST', '/api/workspaces', { name: `Quiet ${Date.now()}` })
  await mutate(page.request, 'PUT', `/api/workspaces/${workspace.id}/members/${userId}`)

  const rejected: string[] = []
  signedOut.on(
    'response',
    (response) => response.status() >= 400 && rejected.push(`${response.status()} ${response.url()}`),
  )
  await signInAs(signedOut, { email, password })
  await signedOut.goto('/')
  await loaded(signedOut)
  for (const { path } of PAGES) {
    await follow(signedOut, path)
    await expect(signedOut.getByRole('heading', { level: 1 })).toHaveCount(1)
    await expect(signedOut.getByText('Try again')).toHaveCount(0)
  }
  expect(rejected).toEqual([])
})

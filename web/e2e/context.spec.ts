import { change } from './api'
import { enter, expect, forebay, settled, test } from './fixtures'
import { PAGES } from './pages'

test('the switch at the top moves to another workspace and stays there', async ({ stranger }) => {
  await enter(stranger, forebay())
  await settled(stranger)
  const name = `Research ${Date.now()}`
  await change(stranger.request, 'POST', '/api/workspaces', { name })

  await stranger.reload()
  await stranger.getByRole('button', { name: /^Switch organization or workspace/ }).click()
  await stranger.getByRole('menuitem', { name }).click()
  await expect(
    stranger.getByRole('button', { name: `Switch organization or workspace. Workspace ${name}` }),
  ).toBeVisible()
  await settled(stranger)
  await stranger.reload()
  await expect(
    stranger.getByRole('button', { name: `Switch organization or workspace. Workspace ${name}` }),
  ).toBeVisible()
})

test('a member without a workspace is told whom to ask, and nothing is asked that would be refused', async ({
  page,
  stranger,
}) => {
  const email = `new-${Date.now()}@example.com`
  const password = 'a password of some length'
  const account = { email, password, organizationId: forebay().organizationId, role: 'member' }
  await change(page.request, 'POST', '/api/users', account)

  const refused: string[] = []
  stranger.on('response', (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`))
  await enter(stranger, { email, password })
  for (const path of ['/models', '/keys', '/members', '/audit', '/settings']) {
    await stranger.goto(path)
    await settled(stranger)
  }
  await stranger.goto('/keys')
  await expect(stranger.getByRole('heading', { name: 'You are in no workspace yet' })).toBeVisible()
  await stranger.goto('/audit')
  await expect(stranger.getByRole('heading', { name: 'The audit log is for administrators' })).toBeVisible()
  expect(refused).toEqual([])
})

test('a member of a workspace where nothing has happened yet opens every page, and nothing is refused', async ({
  page,
  stranger,
}) => {
  test.slow() // every page
  const email = `member-${Date.now()}@example.com`
  const password = 'a password of some length'
  const account = { email, password, organizationId: forebay().organizationId, role: 'member' }
  const { id: userId } = await change(page.request, 'POST', '/api/users', account)
  const workspace = await change(page.request, 'POST', '/api/workspaces', { name: `Quiet ${Date.now()}` })
  await change(page.request, 'PUT', `/api/workspaces/${workspace.id}/members/${userId}`)

  const refused: string[] = []
  stranger.on('response', (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`))
  await enter(stranger, { email, password })
  for (const { path } of PAGES) {
    await stranger.goto(path)
    await settled(stranger)
    await expect(stranger.getByRole('heading', { level: 1 })).toHaveCount(1)
    await expect(stranger.getByText('Try again')).toHaveCount(0)
  }
  expect(refused).toEqual([])
})

import { enter, expect, forebay, settled, test } from './fixtures'

test('the switch at the top moves to another workspace and stays there', async ({ stranger }) => {
  await enter(stranger, forebay())
  await settled(stranger)
  const { csrfToken } = await (await stranger.request.get('/api/session')).json()
  const name = `Research ${Date.now()}`
  const created = await stranger.request.post('/api/workspaces', {
    data: { name },
    headers: { 'x-csrf-token': csrfToken },
  })
  expect(created.status()).toBe(201)

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
  const { csrfToken } = await (await page.request.get('/api/session')).json()
  const email = `new-${Date.now()}@example.com`
  const password = 'a password of some length'
  const created = await page.request.post('/api/users', {
    data: { email, password, organizationId: forebay().organizationId, role: 'member' },
    headers: { 'x-csrf-token': csrfToken },
  })
  expect(created.status()).toBe(201)

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

import { enter, expect, settled, test } from './fixtures'

test('signing in leads to the page that was asked for', async ({ stranger, forebay }) => {
  const asked: string[] = []
  stranger.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await stranger.goto('/models?view=table')
  await expect(stranger).toHaveURL(/\/sign-in\?next=%2Fmodels%3Fview%3Dtable$/)
  await expect(stranger.getByRole('button', { name: 'Sign in' })).toBeVisible()
  const ofApi = new Set(asked.filter((path) => path.startsWith('/api') || path.startsWith('/v1')))
  expect([...ofApi].sort(), 'nothing is asked that would be refused').toEqual(['/api/session', '/api/sign-in-methods'])

  await stranger.getByLabel('Email').fill(forebay.email)
  await stranger.getByLabel('Password').fill(forebay.password)
  await stranger.getByRole('button', { name: 'Sign in' }).click()
  await expect(stranger).toHaveURL(/\/models\?view=table$/)
  await expect(stranger.getByRole('table', { name: 'Models' })).toBeVisible()
})

test('one control alone is named Email, and one Password', async ({ stranger }) => {
  await stranger.goto('/sign-in')
  await expect(stranger.getByLabel('Email')).toHaveCount(1)
  await expect(stranger.getByLabel('Password')).toHaveCount(1)
})

test('a wrong password is told in the words of the API, with the request id to copy', async ({
  stranger,
  forebay,
  expectProblem,
}) => {
  expectProblem(/401.*\/api\/session/)
  await stranger.goto('/sign-in')
  await stranger.getByLabel('Email').fill(forebay.email)
  await stranger.getByLabel('Password').fill('not the password')
  await stranger.getByLabel('Password').press('Enter')
  const alert = stranger.getByRole('alert')
  await expect(alert).toContainText('bad_credentials')
  await expect(alert).toContainText(/req_\w+/)
  await expect(alert.getByRole('button', { name: 'Copy request id' })).toBeVisible()
  await expect(stranger).toHaveURL(/\/sign-in$/)
})

test('signing out ends the session, and every page leads to sign-in', async ({ stranger, forebay }) => {
  await enter(stranger, forebay)
  await settled(stranger)
  await stranger.getByRole('button', { name: `Account of ${forebay.email}` }).click()
  await stranger.getByRole('menuitem', { name: 'Sign out' }).click()
  await expect(stranger).toHaveURL(/\/sign-in$/)
  await stranger.goto('/costs')
  await expect(stranger).toHaveURL(/\/sign-in\?next=%2Fcosts$/)
})

test('a session that ended elsewhere leads to sign-in, and back', async ({ stranger, forebay, expectProblem }) => {
  expectProblem(/401/)
  await enter(stranger, forebay)
  await settled(stranger)
  await stranger.context().clearCookies()
  await stranger.getByRole('link', { name: 'SmolLM2 135M Instruct' }).click()
  await expect(stranger).toHaveURL(/\/sign-in\?next=%2Fmodels%2Fforebay%2Fsmollm2-135m-instruct$/)
})

import { expect, loaded, signInAs, test } from './fixtures'

test('signing in leads to the requested page', async ({ signedOut, forebay }) => {
  const requested: string[] = []
  signedOut.on('request', (request) => requested.push(new URL(request.url()).pathname))
  await signedOut.goto('/models?view=table')
  await expect(signedOut).toHaveURL(/\/sign-in\?next=%2Fmodels%3Fview%3Dtable$/)
  await expect(signedOut.getByRole('button', { name: 'Sign in' })).toBeVisible()
  // Exactly one control has each name.
  await expect(signedOut.getByLabel('Email')).toHaveCount(1)
  await expect(signedOut.getByLabel('Password')).toHaveCount(1)
  const apiPaths = new Set(requested.filter((path) => path.startsWith('/api') || path.startsWith('/v1')))
  expect([...apiPaths].sort(), 'no request that would be rejected').toEqual(['/api/session', '/api/sign-in-methods'])

  await signedOut.getByLabel('Email').fill(forebay.email)
  await signedOut.getByLabel('Password').fill(forebay.password)
  await signedOut.getByRole('button', { name: 'Sign in' }).click()
  await expect(signedOut).toHaveURL(/\/models\?view=table$/)
  await expect(signedOut.getByRole('table', { name: 'Models' })).toBeVisible()
})

test('a wrong password gets a plain sentence', async ({ signedOut, forebay, expectProblem }) => {
  expectProblem(/401.*\/api\/session/)
  await signedOut.goto('/sign-in')
  await signedOut.getByLabel('Email').fill(forebay.email)
  const password = signedOut.getByLabel('Password', { exact: true })
  await password.fill('not the password')
  await signedOut.getByRole('button', { name: 'Show or hide what is typed' }).click()
  await expect(password).toHaveAttribute('type', 'text')
  await password.press('Enter')
  await expect(signedOut.getByRole('alert')).toHaveText(/^The email address or the password is wrong\./)
  await expect(signedOut).toHaveURL(/\/sign-in$/)
})

test('signing out ends the session, and every page leads to sign-in', async ({ signedOut, forebay }) => {
  await signInAs(signedOut, forebay)
  await signedOut.goto('/models')
  await loaded(signedOut)
  await signedOut.getByRole('button', { name: `Account of ${forebay.email}` }).click()
  await signedOut.getByRole('menuitem', { name: 'Sign out' }).click()
  await expect(signedOut).toHaveURL(/\/sign-in$/)
  await signedOut.goto('/costs')
  await expect(signedOut).toHaveURL(/\/sign-in\?next=%2Fcosts$/)
})

test('a session that ended elsewhere leads to sign-in, and back', async ({ signedOut, forebay, expectProblem }) => {
  expectProblem(/401/)
  await signInAs(signedOut, forebay)
  await signedOut.goto('/models')
  await loaded(signedOut)
  await signedOut.context().clearCookies()
  // Not by a link of the page: its next poll may have led to the sign-in before.
  await signedOut.goto('/models/forebay/smollm2-135m-instruct')
  await expect(signedOut).toHaveURL(/\/sign-in\?next=%2Fmodels%2Fforebay%2Fsmollm2-135m-instruct$/)
})

import { mutate } from './api'
import { expect, expectAccessible, follow, loaded, SLOW, test } from './fixtures'

test('a user is invited, accepts, gets a workspace and a role, and is removed', async ({
  page,
  signedOut,
  expectProblem,
}) => {
  expectProblem(/422.*\/invitations/)
  test.slow() // many steps in one test
  const email = `ada-${Date.now()}@example.com`
  await page.goto('/members')
  await loaded(page)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('textbox', { name: 'Email' }).fill('no address')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  await expect(page.getByRole('textbox', { name: 'Email' })).toHaveAttribute('aria-invalid', 'true')
  await page.getByRole('textbox', { name: 'Email' }).fill(email)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = (await page.getByLabel('Invitation link').textContent()) ?? ''
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('tab', { name: 'Invitations' }).click()
  await expect(page).toHaveURL(/\?tab=invitations$/)
  await expect(page.getByRole('rowheader', { name: email })).toBeVisible()
  await expectAccessible(page)

  await signedOut.goto(new URL(link).pathname + new URL(link).hash)
  await expect(signedOut.getByText(email)).toBeVisible()
  await expectAccessible(signedOut)
  await signedOut.getByLabel('Choose a password').fill('a long enough password')
  await signedOut.getByRole('button', { name: 'Accept invitation' }).click()
  await expect(signedOut.getByRole('heading', { level: 1, name: 'Model Library' })).toBeVisible()
  // A member sees the members, and sends no request that only administrators may send.
  const rejected: string[] = []
  signedOut.on('response', (response) => {
    if (response.status() >= 400) rejected.push(response.url())
  })
  for (const path of ['/keys', '/settings', '/settings?tab=account', '/audit', '/playground', '/members'])
    await follow(signedOut, path)
  expect(rejected).toEqual([])
  await expect(signedOut.getByRole('button', { name: 'Invite' })).toHaveCount(0)

  const { currentWorkspaceId } = await (await signedOut.request.get('/api/session')).json()
  const { key } = await mutate(signedOut.request, 'POST', `/api/workspaces/${currentWorkspaceId}/keys`, {
    name: 'their-laptop',
  })

  await page.goto('/members')
  await loaded(page)
  const row = page.getByRole('row').filter({ hasText: email })
  await page.getByRole('button', { name: `Actions for ${email}` }).click()
  await page.getByRole('menuitem', { name: 'Workspaces' }).click()
  await page.getByRole('checkbox').first().uncheck()
  await expect(page.getByText('A member belongs to at least one workspace')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('combobox', { name: `Role of ${email}` }).click()
  await page.getByRole('option', { name: 'Administrator' }).click()
  await expect(row).toContainText('All workspaces')

  await page.getByRole('button', { name: `Actions for ${email}` }).click()
  await page.getByRole('menuitem', { name: 'Remove from the organization' }).click()
  const dialog = page.getByRole('dialog', { name: 'Remove member' })
  await expect(dialog.getByText('their-laptop')).toBeVisible()
  await dialog.getByRole('checkbox', { name: 'Revoke their keys' }).check()
  await expectAccessible(page)
  await dialog.getByRole('textbox').fill(email)
  await dialog.getByRole('button', { name: 'Remove member' }).click()
  await expect(row).toHaveCount(0)
  const models = await page.request.get('/v1/models', { headers: { authorization: `Bearer ${key}` } })
  expect(models.status()).toBe(401)
})

test('the link of a withdrawn invitation shows an error', SLOW, async ({ page, signedOut, expectProblem }) => {
  test.slow() // two browsers
  expectProblem(/404.*\/api\/invitations/)
  const email = `bob-${Date.now()}@example.com`
  await page.goto('/members?tab=invitations')
  await loaded(page)
  await page.getByRole('button', { name: 'Invite' }).first().click()
  await page.getByRole('textbox', { name: 'Email' }).fill(email)
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = new URL((await page.getByLabel('Invitation link').textContent()) ?? '')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: `Withdraw the invitation of ${email}` }).click()
  await expect(page.getByText(email)).toHaveCount(0)
  await signedOut.goto(link.pathname + link.hash)
  const alert = signedOut.getByRole('alert')
  await expect(alert).toContainText('This invitation cannot be used')
  await expect(alert.getByRole('link', { name: 'sign in' })).toBeVisible()
})

test(
  'an account that another user prepared keeps no invited person out',
  SLOW,
  async ({ playwright, signedOut, forebay }) => {
    test.slow() // several sessions
    const email = `eve-${Date.now()}@example.com`
    // Without the session that other tests of this worker share: signing in or accepting would end it.
    const signedOutState = { cookies: [], origins: [] }
    const open = () => playwright.request.newContext({ baseURL: forebay.url, storageState: signedOutState })
    const [operator, stranger] = [await open(), await open()]
    const { password, organizationId, workspaceId } = forebay
    await mutate(operator, 'POST', '/api/session', { email: forebay.email, password })
    /** Acts in an organization, and returns the path of an invitation to it. */
    const invite = async (context: { organizationId: string; workspaceId?: string }, workspaceIds: string[]) => {
      await mutate(operator, 'PUT', '/api/session/context', context)
      const path = `/api/organizations/${context.organizationId}/invitations`
      const { url } = await mutate(operator, 'POST', path, { email, role: 'member', workspaceIds })
      return new URL(url)
    }
    const other = await mutate(operator, 'POST', '/api/organizations', { name: 'Another organization' })
    const workspaces = `/api/operator/organizations/${other.id}/workspaces`
    const { id } = await mutate(operator, 'POST', workspaces, { name: 'Theirs' })
    const token = (await invite({ organizationId: other.id }, [id])).hash.slice(1)
    await mutate(stranger, 'POST', '/api/invitations/accept', { token, password: 'of the other user' })

    const link = await invite({ organizationId, workspaceId }, [workspaceId])
    await signedOut.goto(link.pathname + link.hash)
    await expect(signedOut.getByLabel('Your account password')).toBeVisible()
    await signedOut.getByRole('checkbox', { name: 'I have no account here yet' }).check()
    await expectAccessible(signedOut)
    await signedOut.getByLabel('Choose a password').fill('a long enough password')
    await signedOut.getByRole('button', { name: 'Accept invitation' }).click()
    await expect(signedOut.getByRole('heading', { level: 1, name: 'Model Library' })).toBeVisible()
  },
)

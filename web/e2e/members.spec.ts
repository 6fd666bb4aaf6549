import { expect, expectAccessible, settled, test } from './fixtures'

test('somebody is invited, accepts, is given a workspace and a role, and leaves', async ({ page, stranger }) => {
  test.slow() // many steps in one story
  const email = `ada-${Date.now()}@example.com`
  await page.goto('/members')
  await settled(page)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByRole('textbox', { name: 'Email' }).fill(email)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = (await page.getByLabel('Invitation link').textContent()) ?? ''
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('tab', { name: 'Invitations' }).click()
  await expect(page).toHaveURL(/\?tab=invitations$/)
  await expect(page.getByRole('rowheader', { name: email })).toBeVisible()
  await expectAccessible(page)

  await stranger.goto(new URL(link).pathname + new URL(link).hash)
  await expect(stranger.getByText(email)).toBeVisible()
  await expectAccessible(stranger)
  await stranger.getByLabel('Choose a password').fill('a long enough password')
  await stranger.getByRole('button', { name: 'Accept invitation' }).click()
  await expect(stranger.getByRole('heading', { level: 1, name: 'Model Library' })).toBeVisible()
  // A member sees the members, and asks for nothing that is the administrators'.
  const refused: string[] = []
  stranger.on('response', (response) => {
    if (response.status() >= 400) refused.push(response.url())
  })
  for (const path of ['/members', '/keys', '/settings', '/settings?tab=account', '/audit', '/playground']) {
    await stranger.goto(path)
    await settled(stranger)
  }
  expect(refused).toEqual([])
  await stranger.goto('/members')
  await settled(stranger)
  await expect(stranger.getByRole('button', { name: 'Invite' })).toHaveCount(0)

  await page.goto('/members')
  await settled(page)
  const row = page.getByRole('row').filter({ hasText: email })
  await page.getByRole('button', { name: `Actions for ${email}` }).click()
  await page.getByRole('menuitem', { name: 'Workspaces' }).click()
  await page.getByRole('checkbox').first().uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(row).toContainText('None yet')
  await page.getByRole('combobox', { name: `Role of ${email}` }).click()
  await page.getByRole('option', { name: 'Administrator' }).click()
  await expect(row).toContainText('All workspaces')

  await page.getByRole('button', { name: `Actions for ${email}` }).click()
  await page.getByRole('menuitem', { name: 'Remove from the organization' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill(email)
  await page.getByRole('button', { name: 'Remove member' }).click()
  await expect(row).toHaveCount(0)
})

test('an invitation is withdrawn, and its link says so', async ({ page, stranger, expectProblem }) => {
  test.slow() // two browsers
  expectProblem(/404.*\/api\/invitations/)
  const email = `bob-${Date.now()}@example.com`
  await page.goto('/members?tab=invitations')
  await settled(page)
  await page.getByRole('button', { name: 'Invite' }).first().click()
  await page.getByRole('textbox', { name: 'Email' }).fill(email)
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = new URL((await page.getByLabel('Invitation link').textContent()) ?? '')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: `Withdraw the invitation of ${email}` }).click()
  await expect(page.getByText(email)).toHaveCount(0)
  await stranger.goto(link.pathname + link.hash)
  await expect(stranger.getByRole('alert')).toContainText('This invitation cannot be used')
})

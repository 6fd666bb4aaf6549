import { request } from '@playwright/test'
import { expect, expectAccessible, loaded, SLOW, test } from './fixtures'

// They change the same workspace.
test.describe.configure({ mode: 'default' })

test(
  'concurrent edits are both kept: the second user sees both sides and chooses',
  SLOW,
  async ({ page, context, forebay, expectProblem }) => {
    expectProblem(/409.*\/api\/workspaces\//)
    const api = `/api/workspaces/${forebay.workspaceId}`
    const { csrfToken } = await (await context.request.get('/api/session')).json()
    const before = await (await context.request.get(api)).json()
    const edit = (data: object) => context.request.patch(api, { data, headers: { 'X-CSRF-Token': csrfToken } })

    await page.goto('/settings')
    await loaded(page)
    await expect(page.getByRole('region', { name: 'Quota' })).toContainText(/of [\d,]+ tokens used/)
    await page.getByRole('textbox', { name: 'Requests per minute' }).fill('500')
    await page.getByRole('textbox', { name: 'API keys' }).fill('41')
    // Another user saves first.
    const theirs = await edit({ requestsPerMinute: 700, tokensPerMinute: 900_000, version: before.version })
    expect(theirs.status()).toBe(200)

    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expect(page.getByRole('alert')).toContainText('These settings were changed in the meantime')
    const line = page.getByRole('row', { name: /Requests per minute/ })
    for (const value of [before.requestsPerMinute.toLocaleString('en-GB'), '700', '500'])
      await expect(line).toContainText(value)
    await expect(page.getByRole('row', { name: /API keys/ })).toContainText('Yours; unchanged by them')
    await expect(page.getByRole('row', { name: /Tokens per minute/ })).toContainText('Theirs; unchanged by you')
    await expect(page.getByRole('button', { name: 'Save with these choices' })).toBeDisabled()
    await expectAccessible(page)
    await line.getByText('Mine').click()
    await page.getByRole('button', { name: 'Save with these choices' }).click()
    await expect(page.getByText('Settings saved')).toBeVisible()

    const after = await (await context.request.get(api)).json()
    expect(after).toMatchObject({ requestsPerMinute: 500, maxApiKeys: 41, tokensPerMinute: 900_000 })
    const limits = { requestsPerMinute: null, maxApiKeys: null, tokensPerMinute: null }
    expect((await edit({ ...limits, version: after.version })).status()).toBe(200)
  },
)

test('responses are stored for the days that an administrator sets', async ({ page }) => {
  await page.goto('/settings')
  await loaded(page)
  const panel = page.getByRole('region', { name: 'Stored responses' })
  const days = panel.getByRole('textbox', { name: 'Days to store responses' })
  const save = panel.getByRole('button', { name: 'Save days' })
  await expect(panel).toContainText('Responses are not stored.')
  await expect(page.getByText(/^You are the operator: you may also raise them/)).toBeVisible()
  await expect(save).toBeDisabled()
  await days.fill('7')
  await save.click()
  await expect(panel).toContainText('Responses are stored for 7 days.')
  await expectAccessible(page)
  await days.fill('')
  await save.click()
  await expect(panel).toContainText('Responses are not stored.')
})

test('an administrator sets a monthly budget of the organization, which shows what is left, and removes it', async ({
  page,
}) => {
  await page.goto('/settings?tab=workspaces')
  await loaded(page)
  const panel = page.getByRole('region', { name: 'Budget of the organization' })
  const amount = panel.getByRole('textbox', { name: 'USD per month' })
  const save = panel.getByRole('button', { name: 'Save budget' })
  await expect(save).toBeDisabled()
  // So high that calls of other tests pass.
  await amount.fill('90000')
  await save.click()
  await expect(page.getByRole('region', { name: 'Monthly budget' })).toContainText(
    /of \$90,000\.00 used.*left this month/,
  )
  await expectAccessible(page)
  await amount.fill('')
  await save.click()
  await expect(page.getByRole('region', { name: 'Monthly budget' })).toHaveCount(0)
  await expect(amount).toHaveAttribute('placeholder', 'No budget')
})

test('sessions are listed, and another session is ended', async ({ page, forebay }) => {
  // A separate session to end, since other tests run in parallel.
  const storageState = { cookies: [], origins: [] }
  const elsewhere = await request.newContext({ baseURL: forebay.url, userAgent: 'curl/8.5.0', storageState })
  const { email, password } = forebay
  expect((await elsewhere.post('/api/session', { data: { email, password } })).status()).toBe(200)

  await page.goto('/settings?tab=account')
  await loaded(page)
  const rows = page.getByRole('table', { name: 'Sessions' }).getByRole('row')
  await expect(rows.filter({ hasText: 'This session' })).toHaveCount(1)
  await expectAccessible(page)
  const other = rows.filter({ hasText: 'curl 8' })
  await other.getByRole('button', { name: 'End session' }).click()
  await expect(other).toHaveCount(0)
  expect((await elsewhere.get('/api/sessions')).status()).toBe(401)
  await elsewhere.dispose()
})

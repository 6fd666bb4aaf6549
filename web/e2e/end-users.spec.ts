import { mutate } from './api'
import { expect, expectAccessible, loaded, test } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'
/** Usage is written in batches, shortly after a call. */
const WRITTEN = { timeout: 60_000 }

// They change the same workspace.
test.describe.configure({ mode: 'default' })

test('the people behind a key are seen in costs and the request log, get limits of their own, and are forgotten', async ({
  page,
  forebay,
  expectProblem,
}) => {
  test.slow() // many pages
  expectProblem(/404.*\/end-users\//)
  const name = `ada-${Date.now()}@example.com`
  const forgetNames = async () => {
    const path = `/api/workspaces/${forebay.workspaceId}`
    const { version } = await (await page.request.get(path)).json()
    await mutate(page.request, 'PATCH', path, { version, endUsers: { keepText: false, budgets: [] } })
  }
  await forgetNames()
  await page.goto('/settings?tab=end-users')
  await loaded(page)
  const defaults = page.getByRole('region', { name: 'For each end user' })
  await defaults.getByRole('checkbox', { name: 'Keep names' }).check()
  await defaults.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Settings saved')).toBeVisible()

  await page.goto('/keys')
  await loaded(page)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(`chat-${name}`)
  await page.getByRole('button', { name: 'Advanced' }).click()
  await page.getByRole('checkbox', { name: 'Calls name their end users' }).check()
  await page.getByRole('button', { name: 'Add limit' }).click()
  await page.getByRole('combobox', { name: 'Model of limit 1' }).fill('forebay/*')
  await page.getByRole('textbox', { name: 'Requests per minute of limit 1' }).fill('500')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Create key' }).last().click()
  const secret = (await page.getByLabel('The new key').textContent()) ?? ''
  await page.getByRole('checkbox', { name: 'I have stored it' }).check()
  await page.getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('row').filter({ hasText: `chat-${name}` })
  await expect(row).toContainText('forebay/*: 500 requests/min')

  const call = () =>
    page.request.post('/v1/chat/completions', {
      headers: { authorization: `Bearer ${secret}` },
      data: { model: CHAT, user: name, max_tokens: 2, messages: [{ role: 'user', content: 'Hello' }] },
    })
  expect((await call()).status()).toBe(200)
  await expect(async () => {
    await page.goto('/costs')
    await loaded(page)
    await expect(page.getByRole('table', { name: 'Cost by end user' })).toContainText(name, { timeout: 3_000 })
  }).toPass(WRITTEN)
  await page.getByRole('link', { name: `chat-${name}` }).click()
  await expect(page.getByRole('heading', { level: 1, name: `chat-${name}` })).toBeVisible()
  await expect(page.getByRole('table', { name: 'Usage by end user' }).getByRole('link', { name })).toBeVisible()
  await expectAccessible(page)
  await page.goBack()
  await page.getByRole('table', { name: 'Cost by end user' }).getByRole('link', { name }).click()
  await expect(page).toHaveURL(/endUser=eu_/)
  const requests = page.getByRole('table', { name: 'Requests' })
  await expect(requests.getByRole('row')).toHaveCount(2, WRITTEN)
  await requests.getByRole('button', { name: /^Details of/ }).click()
  await expect(page.getByRole('dialog')).toContainText(name)

  await page.goto(`/settings?tab=end-users&q=${encodeURIComponent(name)}`)
  await loaded(page)
  await page.getByRole('button', { name: `Change limits of ${name}` }).click()
  const dialog = page.getByRole('dialog', { name: `Limits of ${name}` })
  await dialog.getByRole('button', { name: 'Add budget' }).click()
  await dialog.getByRole('textbox', { name: 'Amount of budget 1', exact: true }).fill('0.000000001')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('table', { name: 'End users' })).toContainText('per month')
  await expect.poll(async () => (await call()).status(), WRITTEN).toBe(429)
  await expectAccessible(page)

  await page.getByRole('button', { name: `Delete ${name}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete end user' }).click()
  await expect(page.getByText('No end user matches')).toBeVisible()
  await forgetNames()
})

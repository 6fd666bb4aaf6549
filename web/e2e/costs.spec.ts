import { mutate } from './api'
import { expect, expectAccessible, loaded, SLOW, test } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'
/** Usage is written in batches, shortly after a call. */
const BOOKED = { timeout: 60_000 }

test('a call is on the bill: by day, by model and by key', async ({ page, request, forebay }) => {
  const response = await request.post(`${forebay.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${forebay.apiKey}` },
    data: { model: CHAT, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
  })
  expect(response.status()).toBe(200)
  await expect(async () => {
    const usage = await page.request.get(`${forebay.url}/api/workspaces/${forebay.workspaceId}/usage`)
    expect((await usage.json()).total.requests).toBeGreaterThan(0)
  }).toPass(BOOKED)
  await page.goto('/costs')
  await loaded(page)
  await expect(page.getByRole('table', { name: 'Cost by model' })).toContainText(CHAT)
  await expect(page.getByRole('table', { name: 'Cost by key' })).toContainText('API key')
  const totals = page.getByRole('region', { name: 'Month to date' })
  await expect(totals).toContainText('Forecast for the month')
  await expect(totals).toContainText(/\$0\.\d*[1-9]/)
  await expect(page.getByRole('region', { name: 'Prompt caching' })).toContainText(/Saved\$\d.*Cache hit rate\d+%/)
  await expect(page.getByRole('region', { name: 'Monthly token quota' })).toContainText('Resets on')
  await page.getByRole('radiogroup', { name: 'Group by' }).getByText('By model').click()
  await expect(page).toHaveURL(/by=model/)
  await expect(page.getByRole('region', { name: 'Cost by day' }).getByRole('img')).toBeVisible(BOOKED)
  await expectAccessible(page)
})

test('costs are grouped by a label of keys', async ({ page, forebay }) => {
  const team = `team-${Date.now()}`
  const key = await mutate(page.request, 'POST', `/api/workspaces/${forebay.workspaceId}/keys`, {
    name: team,
    labels: { [team]: 'search' },
  })
  const response = await page.request.post('/v1/chat/completions', {
    headers: { authorization: `Bearer ${key.key}` },
    data: { model: CHAT, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 2 },
  })
  expect(response.status()).toBe(200)
  await expect(async () => {
    await page.goto('/costs')
    await loaded(page)
    const label = page.getByRole('combobox', { name: 'Label', exact: true })
    await label.click({ timeout: 3_000 })
    await page.getByRole('option', { name: team }).click({ timeout: 3_000 })
    await expect(page.getByRole('table', { name: `Cost by ${team}` })).toContainText('search', { timeout: 3_000 })
  }).toPass(BOOKED)
  await expect(page.getByRole('table', { name: `Cost by ${team}` })).toContainText('Without this label')
})

test('without prices, savings are an error and not zero', SLOW, async ({ page, expectProblem }) => {
  expectProblem(/status of 403/)
  await page.route(/\/v1\/models(\?|$)/, (route) => route.fulfill({ status: 403, json: { error: { message: 'No.' } } }))
  await page.goto('/costs')
  const caching = page.getByRole('region', { name: 'Prompt caching' })
  await expect(caching).toContainText('The prices could not be loaded', BOOKED)
})

test('every table can be downloaded as CSV', async ({ page }) => {
  await page.goto('/costs')
  await loaded(page)
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const items = page.getByRole('menuitem')
  await expect(items).toHaveCount(4)
  for (const item of await items.all()) {
    const file = await page.request.get(new URL((await item.getAttribute('href')) ?? '', page.url()).href)
    expect(file.status()).toBe(200)
    expect(file.headers()['content-type']).toContain('text/csv')
  }
})

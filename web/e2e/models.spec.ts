import { mutate } from './api'
import { expect, loaded, signInAs, test } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'

test('the library shows the models of GET /v1/models, and filters by URL', async ({ page, forebay }) => {
  const response = await page.request.get(`${forebay.url}/v1/models`)
  const { data }: { data: { id: string; alias_of?: string }[] } = await response.json()
  // Other tests add aliases and models meanwhile, and remove them.
  const ids = data.filter(({ id, alias_of }) => !alias_of && !id.startsWith('acme/')).map(({ id }) => id)
  expect(ids.length).toBeGreaterThan(1)
  await page.goto('/models')
  await loaded(page)
  const list = page.getByRole('list', { name: 'Models' })
  for (const id of ids) await expect(list.getByText(id, { exact: true })).toBeVisible()

  await page.getByRole('searchbox', { name: 'Search models' }).fill('smollm')
  await expect(page).toHaveURL(/\?q=smollm$/)
  await expect(list.getByRole('listitem')).toHaveCount(1)
  await page.reload()
  await expect(page.getByRole('searchbox', { name: 'Search models' })).toHaveValue('smollm')
  await expect(list.getByRole('listitem')).toHaveCount(1)

  await page.getByRole('searchbox', { name: 'Search models' }).fill('no such model')
  await expect(page.getByText('No model matches')).toBeVisible()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  for (const id of ids) await expect(list.getByText(id, { exact: true })).toBeVisible()
  await expect(page).toHaveURL(/\/models$/)

  await page.getByRole('combobox', { name: 'Modality' }).click()
  await page.getByRole('option', { name: 'Embedding' }).click()
  await expect(page).toHaveURL(/\?modality=embedding$/)
  await expect(list.getByRole('listitem')).toHaveCount(1)
})

test('the table sorts by its column headers', async ({ page }) => {
  await page.goto('/models?view=table')
  await loaded(page)
  const names = page.getByRole('rowheader')
  await page.getByRole('button', { name: 'Context' }).click()
  await expect(page).toHaveURL(/sort=context/)
  await expect(page.getByRole('columnheader', { name: 'Context' })).toHaveAttribute('aria-sort', 'ascending')
  await expect(names.first()).toContainText('all-MiniLM-L6-v2')
  await page.getByRole('button', { name: 'Context' }).click()
  await expect(names.first()).toContainText('SmolLM2 135M Instruct')
})

test('a model page has an id to copy, prices, limits, and code with the base URL', async ({ page, forebay }) => {
  await page.goto('/models')
  await page.getByRole('link', { name: 'SmolLM2 135M Instruct' }).click()
  await expect(page).toHaveURL(`${forebay.url}/models/${CHAT}`)
  await expect(page.getByRole('heading', { level: 1, name: 'SmolLM2 135M Instruct' })).toBeVisible()
  await expect(page.getByText('Available')).toBeVisible()
  await page.getByRole('button', { name: 'Copy Model ID' }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(CHAT)

  await expect(page.getByRole('region', { name: 'Prices' })).toContainText('$0.04')
  await expect(page.getByRole('region', { name: 'Limits' })).toContainText('8,192')
  const flavors = page.getByRole('region', { name: 'Dedicated endpoints' })
  await expect(flavors).toContainText('cpu-1x-q4')
  await page.setViewportSize({ width: 1440, height: 900 })
  const frame = flavors.getByRole('region', { name: 'Flavors' })
  expect(await frame.evaluate((box) => box.scrollWidth - box.clientWidth), 'hidden pixels').toBe(0)
  await page.getByRole('combobox', { name: 'Language or tool' }).click()
  await page.getByRole('option', { name: 'Python', exact: true }).click()
  await expect(page).toHaveURL(/\?code=python$/)
  const code = page.getByRole('region', { name: 'Code for Python' })
  await expect(code).toContainText(`base_url="${forebay.url}/v1"`)
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await code.evaluate((box) => box.scrollWidth - box.clientWidth), 'hidden pixels of code').toBe(0)
})

test('an unknown model says so, and leads to the library', async ({ page, expectProblem }) => {
  expectProblem(/404.*\/v1\//)
  await page.goto('/models/acme/nothing')
  await expect(page.getByText(/acme\/nothing/).last()).toBeVisible()
  await expect(page.getByRole('link', { name: 'Open the Model Library' })).toBeVisible()
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('latency is measured on calls of the workspace, and absent before there are any', async ({
  page,
  signedOut,
  forebay,
}) => {
  await signInAs(signedOut, forebay)
  const workspace = await mutate(signedOut.request, 'POST', '/api/workspaces', { name: `Quiet ${Date.now()}` })
  const context = { organizationId: forebay.organizationId, workspaceId: workspace.id }
  await mutate(signedOut.request, 'PUT', '/api/session/context', context)
  await signedOut.goto(`/models/${CHAT}`)
  const live = { name: 'Status and latency' }
  await expect(signedOut.getByRole('region', live)).toContainText('No calls to this model in the last hour')
  await signedOut.getByRole('radiogroup', { name: 'Time range' }).getByText('Last 24 hours').click()
  await expect(signedOut).toHaveURL(/span=24h/)
  await expect(signedOut.getByRole('region', live)).toContainText('in the last 24 hours')

  const response = await page.request.post(`${forebay.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${forebay.apiKey}` },
    data: { model: CHAT, stream: true, max_tokens: 4, messages: [{ role: 'user', content: 'Hello' }] },
  })
  expect(response.status()).toBe(200)
  await page.goto(`/models/${CHAT}`)
  const figures = page.getByRole('region', live)
  await expect(figures).toContainText(/Time to first token[\d.]+ m?s/, { timeout: 60_000 })
  await expect(page.getByRole('region', { name: 'Cache hit rate', exact: true })).toContainText(/% overall/)
  await expect(figures).toContainText(/Latency[\d.]+ m?s.*p95 [\d.]+ m?s.*p99 [\d.]+ m?s/)
})

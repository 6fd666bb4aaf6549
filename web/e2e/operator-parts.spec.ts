/** The operator's area with real parts: a second engine, an empty installation, and a node that goes away. */

import type { APIRequestContext, Page } from '@playwright/test'
import { mutate } from './api'
import { expect, expectAccessible, loaded, SLOW, signInAs, test } from './fixtures'
import { type Server, startEngine, startForebay, WEIGHTS } from './forebay'
import { startPostgres } from './postgres'

const GENERATED = { timeout: 60_000 }
const unique = () => `${Date.now()}-${Math.floor(Math.random() * 1e6)}`

let engine: Server
test.beforeAll(async () => {
  engine = await startEngine('smol')
})
test.afterAll(() => engine.stop())

/** Adds the engine through the form; the page is the form's. */
async function addEngine(page: Page, id: string, outputPrice: string) {
  await page.getByRole('textbox', { name: 'Address' }).fill(engine.url)
  await page.getByRole('button', { name: 'Connect' }).click()
  const offer = page.getByRole('region', { name: '2. What the server offers' })
  await expect(offer).toContainText('forebay-engine', GENERATED)
  await expect(offer).toContainText('2,048 tokens')
  await expect(offer).toContainText(/Responded in [\d.]+ m?s/)
  const form = page.getByRole('region', { name: '3. Name, prices and limits' })
  await form.getByRole('textbox', { name: 'Model ID' }).fill(id)
  await form.getByRole('textbox', { name: 'Name', exact: true }).fill('A second engine')
  await form.getByRole('textbox', { name: 'Output price' }).fill(outputPrice)
  await form.getByRole('button', { name: 'Add model' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'A second engine' })).toBeVisible()
}

type Target = { url: string; apiKey: string }

const call = (request: APIRequestContext, { url, apiKey }: Target, model: string) =>
  request.post(`${url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${apiKey}` },
    data: { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
  })

/** The price of output tokens that calls pay now. */
async function priceInForce(request: APIRequestContext, { url, apiKey }: Target, model: string) {
  const response = await request.get(`${url}/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } })
  const { data } = await response.json()
  return data.find((one: { id: string }) => one.id === model)?.pricing.output_per_1m
}

test('a second engine is added, tested and billed at the price of each call', async ({ page, forebay }) => {
  test.slow() // many steps in one test
  const id = `acme/second-${unique()}`
  await page.goto('/operator/models/new')
  await loaded(page)
  await addEngine(page, id, '1000')
  await page.getByRole('button', { name: 'Send test call' }).click()
  await expect(page.getByRole('region', { name: 'Test' })).toContainText('The model responded', GENERATED)

  /** Calls once the price is in force everywhere, and returns the completion's tokens. */
  const pay = async (price: string) => {
    await expect.poll(() => priceInForce(page.request, forebay, id)).toBe(price)
    const response = await call(page.request, forebay, id)
    expect(response.status()).toBe(200)
    return (await response.json()).usage.completion_tokens as number
  }
  const first = await pay('1000.00')
  await page.getByRole('textbox', { name: 'Output price' }).fill('3000')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page.getByText('Model saved')).toBeVisible()
  const second = await pay('3000.00')
  const history = page.getByRole('region', { name: 'Price history' })
  await expect(history).toContainText('$3,000.00')
  await expect(history).toContainText('$1,000.00')

  const cost = first * 0.001 + second * 0.003
  await expect(async () => {
    await page.goto('/costs')
    await loaded(page)
    const row = page.getByRole('table', { name: 'Cost by model' }).getByRole('row', { name: new RegExp(id) })
    await expect(row.getByRole('cell').last()).toHaveText(`$${cost.toFixed(3).replace(/0$/, '')}`, { timeout: 3_000 })
  }).toPass(GENERATED)
  await mutate(page.request, 'DELETE', `/api/operator/models/${encodeURIComponent(id)}`)
})

test('the cards of an empty installation turn green, and vanish with the last', SLOW, async ({ browser }) => {
  test.slow() // starts its own server
  const forebay = await startForebay({ withModels: false })
  const context = await browser.newContext({ baseURL: forebay.url, storageState: undefined })
  try {
    const page = await context.newPage()
    await signInAs(page, forebay)
    await page.goto('/operator')
    await loaded(page)
    const steps = page.getByRole('region', { name: 'First steps' })
    const card = (title: string) => steps.getByRole('listitem').filter({ hasText: title })
    await expect(card('Connect a model')).toContainText('Step 1')
    await expect(card('Create a key')).toContainText('Done') // the first start creates one
    await expect(card('Make the first call')).toContainText('Step 3')
    await expectAccessible(page)
    await card('Connect a model').getByRole('link', { name: 'Add model' }).click()
    await addEngine(page, 'acme/first', '1')

    await page.goto('/operator')
    await loaded(page)
    await expect(card('Connect a model')).toContainText('Done')
    await expect(card('Make the first call')).toContainText('Step 3')
    const code = steps.getByRole('region', { name: 'First call' })
    await expect(code).toContainText(`${forebay.url}/v1/chat/completions`)
    await expect(code).toContainText('"acme/first"')
    expect((await call(page.request, forebay, 'acme/first')).status()).toBe(200)
    await expect(steps).toHaveCount(0, GENERATED)
  } finally {
    await context.close()
    await forebay.stop()
  }
})

test('an empty installation runs the starter model with one click', SLOW, async ({ browser }) => {
  test.slow() // starts its own server, and an engine
  const forebay = await startForebay({ withModels: false })
  const context = await browser.newContext({ baseURL: forebay.url, storageState: undefined })
  try {
    const page = await context.newPage()
    await signInAs(page, forebay)
    await page.goto('/operator')
    await loaded(page)
    const steps = page.getByRole('region', { name: 'First steps' })
    const start = steps.getByRole('button', { name: 'Run the starter model' })
    await start.click()
    await expect(steps.getByRole('alert')).toContainText('The model could not be started') // this hub has no such model
    await expectAccessible(page)

    // The file is here already; another hub would name it.
    const found = { models: [{ weights: WEIGHTS }] }
    await page.route('**/api/operator/weights/lookup', (route) => route.fulfill({ json: found }))
    await start.click()
    await expect(page).toHaveURL(/\/operator\/models\/forebay\/smollm2-135m-instruct$/)
    await expect(page.getByText('Available', { exact: true }).first()).toBeVisible(GENERATED)
    expect((await call(page.request, forebay, 'forebay/smollm2-135m-instruct')).status()).toBe(200)
  } finally {
    await context.close()
    await forebay.stop()
  }
})

// PostgreSQL, two nodes, and half a minute without a heartbeat.
test('a node that goes away is shown, and can be forgotten', SLOW, async ({ browser }) => {
  test.setTimeout(300_000)
  const postgres = startPostgres()
  const first = await startForebay({ withModels: false, store: postgres.url })
  const second = await startForebay({ withModels: false, store: postgres.url, beside: first })
  const context = await browser.newContext({ baseURL: first.url, storageState: undefined })
  try {
    const page = await context.newPage()
    await signInAs(page, first)
    await page.goto('/operator/health')
    await loaded(page)
    const rows = page.getByRole('table', { name: 'Nodes of the installation' }).getByRole('row')
    await expect(rows).toHaveCount(3) // and the header
    await expect(rows.filter({ hasText: 'This node' })).toContainText('Leader')
    await page.goto('/operator')
    await loaded(page)
    const summary = page.getByRole('region', { name: 'At a glance' })
    await expect(summary).toContainText('2 of 2', GENERATED)
    const banner = page.getByRole('alert').filter({ hasText: 'No heartbeat' })
    await expect(banner).toHaveCount(0)

    await second.kill()
    // Beside the doctor's warnings about this small installation.
    await expect(banner).toContainText(/things? needs? your attention/, { timeout: 120_000 })
    await expect(summary).toContainText('1 of 2')
    await expectAccessible(page)
    await banner.getByRole('link', { name: 'Open nodes and health' }).click()
    const away = rows.filter({ hasText: 'Away' })
    await expect(away).toHaveCount(1)
    await expectAccessible(page)
    await away.getByRole('button', { name: /^Forget/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Forget node' }).click()
    await expect(rows).toHaveCount(2)
    await page.goto('/operator')
    await loaded(page)
    await expect(summary).toContainText('1 of 1', GENERATED)
    await expect(banner).toHaveCount(0)
  } finally {
    await context.close()
    await second.stop()
    await first.stop()
    postgres.stop()
  }
})

test('the map of GPUs shows slots, and the log of an engine is searched and downloaded', async ({ page }) => {
  await page.goto('/operator/health')
  await loaded(page)
  const gpus = page.getByRole('region', { name: 'GPUs', exact: true })
  await expect(gpus.getByRole('listitem')).toHaveCount(4)
  await expect(gpus).toContainText('local/cpu')
  const logs = page.getByRole('region', { name: 'Logs of engines' })
  await logs.getByRole('combobox', { name: 'Engine' }).click()
  await page.getByRole('option', { name: 'forebay/smollm2-135m-instruct#1' }).click()
  const lines = logs.getByRole('region', { name: /^Log of/ })
  await expect(lines).toContainText('ready after')
  await logs.getByRole('searchbox', { name: 'Search the log' }).fill('no such line')
  await expect(logs).toContainText('No line contains this text.')
  await logs.getByRole('searchbox', { name: 'Search the log' }).fill('READY')
  await expect(lines).toContainText('ready after')
  const download = page.waitForEvent('download')
  await logs.getByRole('link', { name: 'Download' }).click()
  expect((await download).suggestedFilename()).toBe('forebay-smollm2-135m-instruct-1.log')
})

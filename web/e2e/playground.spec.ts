import type { Page } from '@playwright/test'
import { expect, expectAccessible, loaded, SLOW, test } from './fixtures'
import { forgetCapabilities } from './page-states'

const CHAT = 'forebay/smollm2-135m-instruct'
/** Time for forty tokens of the real engine on a busy machine. */
const GENERATED = { timeout: 90_000 }

test.describe.configure({ timeout: 240_000 })

const box = (page: Page) => page.getByRole('textbox').last()
const responses = (page: Page) => page.getByRole('region', { name: `Response from ${CHAT}` })

async function open(page: Page, path = '/playground') {
  await page.goto(path)
  await loaded(page)
}

/** An event of a mocked stream. */
const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`

/** Fills in a setting. */
const set = (page: Page, label: string, value: string) => page.getByRole('textbox', { name: label }).fill(value)

test('a message gets a streamed response with tokens, cost and timings', async ({ page }) => {
  await open(page)
  await expect(box(page)).toHaveAccessibleName('Message')
  await expect(box(page)).toBeFocused()
  await set(page, 'Max tokens', '40')
  await box(page).fill('Name three rivers.')
  const called = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
  await box(page).press('Enter')
  const request = await called
  expect(request.headers()['x-csrf-token']).toBeTruthy()
  expect(request.headers().authorization).toBeUndefined()
  expect(request.postDataJSON()).toMatchObject({ model: CHAT, stream: true, max_tokens: 40 })

  const response = responses(page)
  await expect(response).toHaveAttribute('data-state', 'done', GENERATED)
  await expect(response).toContainText(/Tokens\s*\d+.* in, \d+ out/)
  await expect(response).toContainText(/Cost\s*\$0\.0000/)
  await expect(response).toContainText(/First token/)
  await expect(response).toContainText(/tokens\/s/)
  await expect(box(page)).toHaveValue('')
  await expect(page).toHaveURL(/\?chat=[0-9a-f]{16}$/)
  await expectAccessible(page)

  await page.reload()
  await expect(responses(page)).toContainText(/tokens\/s/)
  await expect(page.getByText('Name three rivers.')).toBeVisible()
})

test('stop cancels the call and keeps the text received so far', async ({ page }) => {
  await open(page)
  await box(page).fill('Write a very long story about a river, with many chapters.')
  const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/chat/completions'))
  await box(page).press('Enter')
  await expect(responses(page)).toBeVisible()
  await expect(responses(page).getByRole('img', { name: 'Waiting for the first token' })).toBeHidden(GENERATED)
  await page.getByRole('button', { name: 'Stop' }).click()
  expect((await ended).failure()?.errorText).toBe('net::ERR_ABORTED')
  await expect(responses(page)).toHaveAttribute('data-state', 'stopped')
  await expect(responses(page).getByText('Stopped')).toBeVisible()
  await expect(responses(page), 'from the request log').toContainText(
    /Tokens\s*(about )?\d+.* in, \d+ out\s*Cost\s*\$0\.0000/,
  )
  await expect(page.getByRole('button', { name: 'Send' })).toBeVisible()
  await expect(box(page)).toBeFocused()
})

test('a response is regenerated, and the last message is edited', async ({ page }) => {
  await open(page)
  await set(page, 'Max tokens', '8')
  await box(page).fill('Say hello')
  await box(page).press('Enter')
  await expect(responses(page)).toHaveAttribute('data-state', 'done', GENERATED)
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await expect(responses(page)).toHaveAttribute('data-state', 'done', GENERATED)
  await expect(page.getByRole('article')).toHaveCount(1)
  await page.getByRole('button', { name: 'Edit message' }).click()
  await page.getByRole('textbox', { name: 'Edit message' }).fill('Say goodbye')
  const called = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
  await page.getByRole('button', { name: 'Send again' }).click()
  expect((await called).postDataJSON().messages).toEqual([{ role: 'user', content: 'Say goodbye' }])
  await expect(page.getByRole('article')).toHaveCount(1)
  await expect(page.getByText('Say goodbye')).toBeVisible()
})

test('two models respond side by side', async ({ page }) => {
  await open(page)
  await page.getByRole('button', { name: 'Compare with another model' }).click()
  await expect(page).toHaveURL(/compare=/)
  await set(page, 'Max tokens', '12')
  await box(page).fill('Hello')
  await box(page).press('Enter')
  // The other model may be an endpoint that another test has just started.
  const both = page.getByRole('region', { name: /^Response [12] from / })
  await expect(both).toHaveCount(2)
  for (const lane of [0, 1]) await expect(both.nth(lane)).toHaveAttribute('data-state', 'done', GENERATED)
  await page.getByRole('button', { name: 'End comparison' }).click()
  await expect(page).not.toHaveURL(/compare=/)
})

test('a schema, an image and tools are sent; the result of a tool is typed and continues the chat', async ({
  page,
}) => {
  const sent: { messages: { role: string; content: unknown }[]; tools?: unknown[]; response_format?: object }[] = []
  await forgetCapabilities(page)
  await page.route('**/v1/chat/completions', (route) => {
    sent.push(route.request().postDataJSON())
    const call = { index: 0, id: 'call_1', function: { name: 'get_weather', arguments: '{"city":"Ulm"}' } }
    const body = chunk(sent.length === 1 ? { tool_calls: [call] } : { content: '{"weather":"rain"}' })
    return route.fulfill({ contentType: 'text/event-stream', body: `${body}data: [DONE]\n\n` })
  })
  await open(page)
  await page.getByText('Format, tools and thinking').click()
  await page.getByRole('combobox', { name: 'Response format' }).click()
  await page.getByRole('option', { name: 'JSON that fits a schema' }).click()
  // Of the schema, and then of the tools.
  await page.getByRole('button', { name: 'Insert an example' }).first().click()
  await page.getByRole('button', { name: 'Insert an example' }).click()
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const image = { name: 'sky.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') }
  await page.locator('input[type=file]').setInputFiles([image])
  await expect(page.getByRole('img', { name: 'Image 1' })).toBeVisible()
  await box(page).fill('What is the weather?')
  await box(page).press('Enter')
  await page.getByRole('textbox', { name: 'Result of get_weather' }).fill('rain')
  await expect(box(page)).toHaveAccessibleDescription(/Type the results of the tools above/)
  await box(page).fill('And tomorrow?')
  await box(page).press('Enter')
  await expect(page.getByRole('article'), 'nothing is sent before the results').toHaveCount(1)
  await box(page).fill('')
  await expectAccessible(page)
  await page.getByRole('combobox', { name: 'Response format' }).click()
  await page.getByRole('option', { name: 'JSON', exact: true }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByRole('article').nth(1)).toContainText('"weather": "rain"')
  const { response_format, tools } = sent[0] ?? {}
  expect(response_format).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: { required: ['name', 'rivers'] } },
  })
  expect(tools).toMatchObject([{ type: 'function' }])
  expect(sent[1]).toMatchObject({ response_format: { type: 'json_object' } })
  expect(sent[0]?.messages[0]?.content).toEqual([
    { type: 'text', text: 'What is the weather?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
  ])
  expect(sent[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])

  await page.reload()
  await expect(page.getByText('1 image, not kept'), 'images are too large to be stored').toBeVisible()
})

const GREETING = { contentType: 'text/event-stream', body: `${chunk({ content: 'Hello.' })}data: [DONE]\n\n` }

test('on a phone the model is shown, the settings are folded, and nothing is wider than the screen', async ({
  page,
}) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.route('**/v1/chat/completions', (route) => route.fulfill(GREETING))
  await open(page, `/playground?model=${encodeURIComponent(CHAT)}`)
  const tokens = page.getByRole('textbox', { name: 'Max tokens' })
  const settings = page.getByRole('button', { name: 'Settings', exact: true })
  await expect(page.getByRole('region', { name: 'Chat' }).getByText(CHAT, { exact: true })).toBeInViewport()
  await expect(tokens).toBeHidden()
  await settings.click()
  await expect(tokens).toBeVisible()
  await settings.click()
  await expect(tokens).toBeHidden()
  await box(page).fill('Hello')
  await page.getByRole('button', { name: 'Send' }).click()
  await expect(responses(page)).toHaveAttribute('data-state', 'done')
  await expect(box(page)).toBeInViewport()
  expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(0)
  await expectAccessible(page)
})

test('four models respond side by side, and no fifth is offered', async ({ page }) => {
  const sent: string[] = []
  await page.route('**/v1/chat/completions', (route) => {
    sent.push(route.request().postDataJSON().model)
    return route.fulfill(GREETING)
  })
  // The same model four times: an endpoint of another test may end meanwhile.
  await open(page, `/playground?${new URLSearchParams({ model: CHAT, compare: `${CHAT},${CHAT},${CHAT}` })}`)
  await expect(page.getByRole('button', { name: 'Add another model' })).toHaveCount(0)
  await expect(page.getByRole('combobox', { name: /^(Model|Model \d)$/ })).toHaveCount(4)
  await box(page).fill('Hello')
  await box(page).press('Enter')
  const lanes = page.getByRole('region', { name: /^Response \d from / })
  await expect(lanes).toHaveCount(4)
  for (const lane of await lanes.all()) await expect(lane).toHaveAttribute('data-state', 'done')
  expect(sent).toHaveLength(4)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Remove model 4' }).click()
  await expect(page.getByRole('combobox', { name: /^(Model|Model \d)$/ })).toHaveCount(3)
  await expect(page.getByRole('button', { name: 'Add another model' })).toBeVisible()
})

test('the code matches the request exactly', async ({ page, forebay }) => {
  await open(page)
  await set(page, 'Max tokens', '6')
  await set(page, 'Seed', '7')
  await page.getByRole('textbox', { name: 'System prompt' }).fill("It's a test")
  await box(page).fill('Hello there')
  await box(page).press('Enter')
  await expect(responses(page)).toHaveAttribute('data-state', 'done', GENERATED)
  await page.getByRole('button', { name: 'Show code for this request' }).click()
  const dialog = page.getByRole('dialog', { name: 'Code for this request' })
  await dialog.getByRole('tab', { name: 'Python' }).click()
  const code = dialog.getByRole('region', { name: 'Code for Python' })
  for (const part of [forebay.url, CHAT, 'seed=7', 'max_tokens=6', "It's a test", 'Hello there'])
    await expect(code).toContainText(part)
  await expectAccessible(page)

  // The same request for the other APIs, in the chosen language.
  await dialog.getByText('Messages', { exact: true }).click()
  for (const part of ['from anthropic import', `base_url="${forebay.url}"`, 'max_tokens=6', 'Hello there'])
    await expect(code).toContainText(part)
  await expect(dialog.getByText('This API has no seed.')).toBeVisible()
  await dialog.getByText('Responses', { exact: true }).click()
  for (const part of ['client.responses.create', 'max_output_tokens=6', 'instructions=', 'store=False', 'Hello there'])
    await expect(code).toContainText(part)
  await expectAccessible(page)
})

test('the code of another API gets the same response', async ({ page, forebay }) => {
  await open(page)
  await set(page, 'Max tokens', '6')
  await box(page).fill('Say hello')
  await page.getByRole('button', { name: 'Show code' }).click()
  const dialog = page.getByRole('dialog', { name: 'Code for this request' })
  const apis = [
    { name: 'Messages', path: 'messages', end: 'event: message_stop' },
    { name: 'Responses', path: 'responses', end: 'event: response.' },
  ]
  for (const { name, path, end } of apis) {
    await dialog.getByText(name, { exact: true }).click()
    const code = (await dialog.getByRole('region', { name: 'Code for curl' }).textContent()) ?? ''
    expect(code).toContain(`${forebay.url}/v1/${path} `)
    const response = await page.request.post(`${forebay.url}/v1/${path}`, {
      headers: { authorization: `Bearer ${forebay.apiKey}`, 'content-type': 'application/json' },
      data: code.slice(code.indexOf("'{") + 1, code.lastIndexOf("'")),
    })
    expect(response.status()).toBe(200)
    expect(await response.text()).toContain(end)
  }
})

test('malicious model output executes nothing and loads nothing', async ({ page }) => {
  await open(page)
  const text =
    '# Title\n\n<script>window.pwned = 1</script>\n\n![x](https://evil.example/p.png)\n\n[link](javascript:window.pwned=1)\n\n```js\nconst a = 1\n```'
  // The response is mocked, since a real model cannot be made to produce exactly this.
  await page.route('**/v1/chat/completions', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: `${chunk({ content: text })}data: [DONE]\n\n` }),
  )
  await box(page).fill('Attack')
  await box(page).press('Enter')
  await expect(responses(page).getByRole('heading', { level: 3, name: 'Title' })).toBeVisible()
  await expect(responses(page).getByText('<script>')).toBeVisible()
  await expect(responses(page).getByRole('link')).toHaveText(['Image: x'])
  await expect(responses(page).locator('img, script')).toHaveCount(0)
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false)
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
  await expectAccessible(page)
})

test('the thread shows the end of each response', async ({ page }) => {
  await open(page)
  const lines = Array.from({ length: 60 }, (_, line) => `Line ${line}.`).join('\n\n')
  // The response is mocked, since only its length matters.
  await page.route('**/v1/chat/completions', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: `${chunk({ content: lines })}data: [DONE]\n\n` }),
  )
  const log = page.getByRole('log', { name: 'Conversation' })
  const hidden = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)
  for (const turn of [1, 2, 3]) {
    await box(page).fill(`Question ${turn}`)
    await box(page).press('Enter')
    await expect(responses(page)).toHaveCount(turn)
    await expect(responses(page).last()).toHaveAttribute('data-state', 'done')
    await expect.poll(hidden, 'pixels below the visible part').toBeLessThan(2)
  }
})

test('a rejected call shows the error of the API and the request id', async ({ page, expectProblem }) => {
  expectProblem(/400.*chat\/completions/)
  await open(page)
  await box(page).fill('river '.repeat(12_000))
  await box(page).press('Enter')
  const alert = responses(page).getByRole('alert')
  await expect(alert).toContainText('context_length_exceeded')
  await expect(alert).toContainText(/req_\w+/)
})

test('conversations are stored in this browser, reopened and deleted', SLOW, async ({ page }) => {
  await open(page)
  await set(page, 'Max tokens', '4')
  await box(page).fill('The first conversation')
  await box(page).press('Enter')
  await expect(responses(page)).toHaveAttribute('data-state', 'done', GENERATED)
  await page.getByRole('button', { name: 'New chat' }).click()
  await expect(page.getByText('Ask something')).toBeVisible()
  await page.getByRole('button', { name: 'Conversations' }).click()
  await page.getByRole('menuitem', { name: /The first conversation/ }).click()
  await expect(responses(page)).toHaveAttribute('data-state', 'done', GENERATED)
  await page.getByRole('button', { name: 'Conversations' }).click()
  await page.getByRole('menuitem', { name: 'Delete all' }).click()
  await expect(page.getByText('Ask something')).toBeVisible()
})

test('texts become vectors, and a matrix shows their similarity', async ({ page }) => {
  await open(page, '/playground?tab=embeddings')
  await page.getByRole('textbox', { name: 'Texts, one per line' }).fill('a river\na stream\ntax law')
  await page.getByRole('button', { name: 'Compute embeddings' }).click()
  const matrix = page.getByRole('region', { name: 'Similarity matrix' })
  const value = async (row: number, column: number) =>
    Number(await matrix.getByRole('row').nth(row).getByRole('cell').nth(column).textContent())
  await expect(matrix.getByRole('row')).toHaveCount(4)
  expect(await value(1, 0)).toBe(1)
  expect(await value(1, 1)).toBeGreaterThan(await value(1, 2))
  expect(await value(2, 0)).toBe(await value(1, 1))
  await expect(page.getByRole('region', { name: 'This call' })).toContainText('of 384 dimensions')
  await expectAccessible(page)
})

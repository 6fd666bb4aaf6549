import { expect, expectAccessible, loaded, SLOW, test } from './fixtures'
import { dragOver } from './page-states'

const CHAT = 'forebay/smollm2-135m-instruct'
/** Series and the request log are written in batches, shortly after a call. */
const BOOKED = { timeout: 60_000 }

test('calls show up in charts and in the log, each with its details', async ({ page, request, forebay }) => {
  const call = (model: string) =>
    request.post(`${forebay.url}/v1/chat/completions`, {
      headers: { authorization: `Bearer ${forebay.apiKey}` },
      data: { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
    })
  const served = await call(CHAT)
  expect(served.status()).toBe(200)
  expect((await call('acme/none')).status()).toBe(404)
  const id = served.headers()['x-request-id'] ?? ''

  await page.goto('/observability')
  await loaded(page)
  await expect(page.getByText(/^Times in /)).toBeVisible()
  await expect(page.getByRole('region', { name: 'Requests' }).getByRole('img')).toBeVisible(BOOKED)
  await expect(page.getByRole('region', { name: 'Errors by code' }).getByRole('img')).toBeVisible(BOOKED)
  await expect(page.getByRole('region', { name: 'Errors by code' })).toContainText('model_not_found')
  await expect(page.getByRole('region', { name: 'Waiting calls' })).toContainText('No calls wait.')
  await expectAccessible(page)

  await page.getByRole('tab', { name: 'Requests' }).click()
  await expect(page).toHaveURL(/tab=requests/)
  await page.getByRole('button', { name: `Details of ${id}` }).click(BOOKED)
  const drawer = page.getByRole('dialog')
  await expect(drawer).toContainText(CHAT)
  await expect(drawer).toContainText('reported by the engine')
  await expect(drawer.getByText('Failover', { exact: true })).toBeVisible()
  await expect(page).toHaveURL(new RegExp(`request=${id}`))
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await expect(drawer).toBeHidden()

  await page.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: '4xx: rejected' }).click()
  await expect(page).toHaveURL(/status=4xx/)
  await expect(page.getByRole('table', { name: 'Requests' })).toContainText('404 model_not_found')
  await expect(page.getByRole('button', { name: `Details of ${id}` })).toHaveCount(0)
  const csv = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')
  const file = await page.request.get(new URL(csv ?? '', page.url()).href)
  expect(await file.text()).toContain('model_not_found')
})

test('the log finds a call by its id and its duration, and shows all its figures at 1440 px', async ({
  page,
  request,
  forebay,
}) => {
  const called = await request.post(`${forebay.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${forebay.apiKey}` },
    data: { model: CHAT, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
  })
  const id = called.headers()['x-request-id'] ?? ''
  await page.setViewportSize({ width: 1440, height: 900 })
  await page.goto('/observability?tab=requests')
  await loaded(page)
  const table = page.getByRole('table', { name: 'Requests' })
  const details = page.getByRole('button', { name: `Details of ${id}` })
  await expect(details).toBeVisible(BOOKED)
  for (const name of ['Tokens', 'Cost', 'First byte', 'Duration'])
    await expect(table.getByRole('columnheader', { name, exact: true })).toBeInViewport({ ratio: 1 })

  await page.getByRole('searchbox', { name: 'Request id' }).fill(id)
  await expect(page).toHaveURL(new RegExp(`id=${id}`))
  await expect(table.getByRole('rowheader')).toHaveCount(1)
  await expect(details).toBeVisible()
  await page.getByRole('combobox', { name: 'Duration' }).click()
  await page.getByRole('option', { name: 'At least 1 min' }).click()
  await expect(page).toHaveURL(/slower=60000/)
  await expect(page.getByText('No calls found')).toBeVisible()
})

test('the log is sorted by tokens on the server, and goes back to the newest first', async ({
  page,
  request,
  forebay,
}) => {
  let id = ''
  for (const content of [
    'Hello',
    'Hello, and a much longer prompt than the other one, so that they differ in tokens',
  ]) {
    const called = await request.post(`${forebay.url}/v1/chat/completions`, {
      headers: { authorization: `Bearer ${forebay.apiKey}` },
      data: { model: CHAT, messages: [{ role: 'user', content }], max_tokens: 4 },
    })
    id = called.headers()['x-request-id'] ?? ''
  }
  await page.goto('/observability?tab=requests')
  await loaded(page)
  const table = page.getByRole('table', { name: 'Requests' })
  await expect(page.getByRole('button', { name: `Details of ${id}` })).toBeVisible(BOOKED)
  const tokens = table.getByRole('columnheader', { name: 'Tokens', exact: true })
  /** The tokens of the calls, such as `12 / 4`. */
  const sums = async () =>
    (await table.locator('tbody tr > :nth-child(6)').allTextContents()).map((text) =>
      text.split(' / ').reduce((sum, count) => sum + Number(count.replace(/\D/g, '')), 0),
    )
  for (const [direction, sort, sign] of [
    ['ascending', 'sort=tokens', 1],
    ['descending', 'sort=-tokens', -1],
  ] as const) {
    await tokens.getByRole('button').click()
    await expect(tokens).toHaveAttribute('aria-sort', direction)
    await expect(page).toHaveURL(new RegExp(sort))
    await expect
      .poll(async () => {
        const shown = await sums()
        return shown.length > 1 && shown.every((sum, row) => row === 0 || sign * (sum - (shown[row - 1] ?? 0)) >= 0)
      })
      .toBe(true)
  }
  await expect(page.getByRole('switch', { name: 'Live tail' })).toBeDisabled()
  await page.getByRole('button', { name: 'Newest first' }).click()
  await expect(page).not.toHaveURL(/sort=/)
  await expect(page.getByRole('switch', { name: 'Live tail' })).toBeEnabled()
})

test('the live tail shows a call as soon as it is in the log', async ({ page, request, forebay }) => {
  test.slow() // waits for a call to be booked
  await page.goto('/observability?tab=requests&span=30d')
  await loaded(page)
  await page.getByRole('switch', { name: 'Live tail' }).check()
  await expect(page).toHaveURL(/live=1/)
  const called = await request.post(`${forebay.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${forebay.apiKey}` },
    data: { model: CHAT, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
  })
  // Without it, this range is refetched once a minute.
  const details = page.getByRole('button', { name: `Details of ${called.headers()['x-request-id']}` })
  await expect(details).toBeVisible({ timeout: 30_000 })
})

test('dragging over a chart zooms, and the time range is in the URL', SLOW, async ({ page }) => {
  await page.goto('/observability?span=6h')
  await loaded(page)
  const chart = page.getByRole('region', { name: 'Requests' }).getByRole('img')
  await expect(chart).toBeVisible(BOOKED)
  await dragOver(page, chart)
  await expect(page).toHaveURL(/from=.*&to=/)
  await expect(page.getByLabel('From', { exact: true })).not.toHaveValue('')
  await page.getByLabel('To', { exact: true }).fill('1 Jan 2020, 00:00')
  await expect(page.getByText('Must be after From')).toBeVisible()
  const lengths = page.getByRole('radiogroup', { name: 'Time range' })
  await expect(lengths.getByRole('radio', { checked: true })).toHaveCount(0)
  await page.getByRole('button', { name: 'Back to now' }).click()
  await expect(page).toHaveURL(/\/observability\?span=6h$/)
})

test('endpoint metrics are not requested when filtered by model', SLOW, async ({ page }) => {
  const requested: string[] = []
  page.on('request', (request) => requested.push(request.url()))
  await page.goto('/observability?model=forebay%2Fsmollm2-135m-instruct')
  await loaded(page)
  await expect(page.getByText('measured at dedicated endpoints')).toBeVisible()
  expect(requested.filter((url) => url.includes('metric=gpu_busy'))).toEqual([])
})

test('an API filters charts and log together', SLOW, async ({ page, request, forebay }) => {
  test.slow() // it waits for figures four times
  const call = (path: string) =>
    request.post(`${forebay.url}/v1/${path}`, {
      headers: { authorization: `Bearer ${forebay.apiKey}` },
      data: { model: CHAT, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
    })
  const message = await call('messages')
  const chat = await call('chat/completions')
  expect([message.status(), chat.status()]).toEqual([200, 200])
  const requested: URL[] = []
  page.on('request', (one) => requested.push(new URL(one.url())))

  await page.goto('/observability')
  await loaded(page)
  await expect(page.getByRole('region', { name: 'Requests' }).getByRole('img')).toBeVisible(BOOKED)
  await page.getByRole('combobox', { name: 'API', exact: true }).click()
  requested.length = 0
  await page.getByRole('option', { name: 'Messages' }).click()
  await expect(page).toHaveURL(/surface=messages/)
  await loaded(page)
  await expect(page.getByRole('region', { name: 'Requests' }).getByRole('img')).toBeVisible(BOOKED)
  await expect(page.getByRole('region', { name: 'Latency' }).getByRole('img')).toBeVisible(BOOKED)
  await expect(page.getByText('measured at dedicated endpoints')).toBeVisible()
  const filtered = () => requested.filter(({ searchParams }) => searchParams.get('surface') === 'messages')
  const metrics = () => [...new Set(filtered().map(({ searchParams }) => searchParams.get('metric')))].sort()
  await expect
    .poll(metrics)
    .toEqual(['cancelled', 'errors', 'latency', 'rate_limit_hits', 'requests', 'tokens', 'ttft'])

  await page.getByRole('tab', { name: 'Requests' }).click()
  await expect(page).toHaveURL(/surface=messages/)
  await expect(page.getByRole('button', { name: `Details of ${message.headers()['x-request-id']}` })).toBeVisible(
    BOOKED,
  )
  await expect(page.getByRole('button', { name: `Details of ${chat.headers()['x-request-id']}` })).toHaveCount(0)

  // An API without calls, which the list does not offer because it has no route.
  await page.goto(page.url().replace('surface=messages', 'surface=rerank'))
  await expect(page.getByText('No calls found')).toBeVisible()
  await page.getByRole('tab', { name: 'Charts' }).click()
  await expect(page.getByRole('region', { name: 'Requests' })).toContainText('No calls in this time range')
})

test('calls are counted by API, and the log shows those of one API', async ({ page, request, forebay }) => {
  const called = await request.post(`${forebay.url}/v1/messages`, {
    headers: { 'x-api-key': forebay.apiKey },
    data: { model: CHAT, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
  })
  expect(called.status()).toBe(200)
  const id = called.headers()['x-request-id'] ?? ''
  const chat = await request.post(`${forebay.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${forebay.apiKey}` },
    data: { model: CHAT, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 },
  })
  const other = chat.headers()['x-request-id'] ?? ''

  await page.goto('/observability')
  await loaded(page)
  await expect(page.getByRole('region', { name: 'Cache hit rate', exact: true }).getByRole('img')).toBeVisible(BOOKED)
  const table = page.getByRole('table', { name: 'Calls by API' })
  await expect(table.getByRole('row', { name: /Chat completions/ })).toBeVisible(BOOKED)
  await table.getByRole('button', { name: 'Messages' }).click(BOOKED)
  await expect(page).toHaveURL(/tab=requests/)
  await expect(page).toHaveURL(/surface=messages/)
  await expect(page.getByRole('button', { name: `Details of ${id}` })).toBeVisible(BOOKED)
  await expect(page.getByRole('button', { name: `Details of ${other}` })).toHaveCount(0)
  await expect(page.getByRole('table', { name: 'Requests' })).not.toContainText('Chat completions')
})

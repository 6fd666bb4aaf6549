import type { APIRequestContext, Page } from '@playwright/test'
import { expect, expectAccessible, loaded, SLOW, test, type UnderTest } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'
/** A cold start of the real engine on a busy machine. */
const STARTED = { timeout: 120_000 }

test.describe.configure({ mode: 'serial', timeout: 240_000 })

const headers = (forebay: UnderTest) => ({ authorization: `Bearer ${forebay.apiKey}` })
const chat = (request: APIRequestContext, forebay: UnderTest, name: string) =>
  request.post(`${forebay.url}/v1/chat/completions`, {
    headers: headers(forebay),
    data: { model: `dedicated/${name}`, messages: [{ role: 'user', content: 'Say hello' }], max_tokens: 8 },
    timeout: STARTED.timeout,
  })

async function fillIn(page: Page, name: string, most: string) {
  await page.goto(`/endpoints/new?model=${encodeURIComponent(CHAT)}`)
  await loaded(page)
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await expect(page.getByRole('radio', { name: 'cpu-1x-q4' })).toBeVisible()
  await page.getByRole('textbox', { name: 'Minimum replicas' }).fill('1')
  await page.getByRole('textbox', { name: 'Maximum replicas' }).fill(most)
  await page.getByRole('button', { name: 'Review' }).click()
}

test('an endpoint is created after a review, serves, and is called', async ({ page, request, forebay }) => {
  // An earlier attempt of this test may have left it behind.
  await request.delete(`${forebay.url}/v1/endpoints/e2e-chat`, { headers: headers(forebay) })
  await expect
    .poll(
      async () => (await request.get(`${forebay.url}/v1/endpoints/e2e-chat`, { headers: headers(forebay) })).status(),
      STARTED,
    )
    .toBe(404)
  await page.goto('/endpoints')
  await page.getByRole('link', { name: 'New endpoint' }).first().click()
  await loaded(page)
  await page.getByRole('combobox', { name: 'Model' }).click()
  await page.getByRole('option', { name: 'SmolLM2 135M Instruct' }).click()
  await expect(page).toHaveURL(/model=forebay%2Fsmollm2/)
  await expect(page.getByRole('radio', { name: 'cpu-1x-q4' })).toBeChecked()
  await page.getByRole('textbox', { name: 'Name' }).fill('e2e-chat')
  await page.getByRole('textbox', { name: 'Minimum replicas' }).fill('1')
  await page.getByRole('textbox', { name: 'Maximum replicas' }).fill('2')
  const review = page.getByRole('region', { name: '4. Review' })
  await expect(review).toContainText('2 GPUs')
  await expect(review).toContainText('$0.05 to $0.10')
  await expect(review).toContainText('$36.50 to $73.00')
  await page.getByRole('button', { name: 'Review' }).click()
  await expect(page.getByRole('region', { name: 'Ready to create' })).toContainText('dedicated/e2e-chat')
  const none = await request.get(`${forebay.url}/v1/endpoints/e2e-chat`, { headers: headers(forebay) })
  expect(none.status(), 'a review creates nothing').toBe(404)

  await page.getByRole('button', { name: 'Create endpoint' }).click()
  await expect(page).toHaveURL(/\/endpoints\/e2e-chat$/)
  await expect(page.getByRole('region', { name: 'State' }).getByText('Serving', { exact: true })).toBeVisible(STARTED)
  expect((await chat(request, forebay, 'e2e-chat')).status()).toBe(200)
  await expectAccessible(page)
})

test('an exceeded allotment is explained with its numbers and remedies', async ({ page, expectProblem }) => {
  expectProblem(/409.*\/v1\/endpoints/)
  // SPEC 7.4: on create, reduce the replicas; `remediation` links to the explanation.
  await fillIn(page, 'e2e-too-big', '9')
  const alert = page.getByRole('alert')
  await expect(alert).toContainText('GPU_ALLOTMENT_EXCEEDED')
  await expect(alert).toContainText('The organization has an allotment of 8 local/cpu GPUs')
  await expect(alert).toContainText(/\d+ are committed; this change would make it \d+, which is \d+ over the allotment/)
  await expect(alert.getByRole('link', { name: 'e2e-chat' })).toBeVisible()
  await expect(alert.getByRole('link', { name: 'How the allotment works' })).toBeVisible()
  await expect(alert.getByRole('button', { name: 'Copy request id' })).toBeVisible()
  await expectAccessible(page)
  await page.getByRole('textbox', { name: 'Maximum replicas' }).fill('1')
  await page.getByRole('button', { name: 'Review' }).click()
  await expect(page.getByRole('region', { name: 'Ready to create' })).toBeVisible()
})

test('a name in use is reported at its field', async ({ page, expectProblem }) => {
  expectProblem(/409.*\/v1\/endpoints/)
  await fillIn(page, 'e2e-chat', '1')
  await expect(page.getByRole('alert')).toContainText('ENDPOINT_NAME_IN_USE')
  const name = page.getByRole('textbox', { name: 'Name' })
  await expect(name).toHaveAttribute('aria-invalid', 'true')
  await name.fill('e2e-other')
  await expect(name).not.toHaveAttribute('aria-invalid', 'true')
})

test('a concurrent change is reported, not overwritten', SLOW, async ({ page, request, forebay, expectProblem }) => {
  expectProblem(/409.*\/v1\/endpoints/)
  await page.goto('/endpoints/e2e-chat')
  await page.getByRole('button', { name: 'Scale' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('textbox', { name: 'Maximum replicas' })).toHaveValue('2')
  const change = { headers: headers(forebay), data: { maxReplicas: 3 } }
  expect((await request.patch(`${forebay.url}/v1/endpoints/e2e-chat`, change)).status()).toBe(200)
  await dialog.getByRole('textbox', { name: 'Scale down after' }).fill('300')
  await dialog.getByRole('button', { name: 'Save scaling' }).click()
  await expect(dialog.getByRole('alert')).toContainText('ENDPOINT_MODIFIED')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Load current values' }).click()
  await expect(dialog.getByRole('textbox', { name: 'Maximum replicas' })).toHaveValue('3')
  await dialog.getByRole('textbox', { name: 'Maximum replicas' }).fill('2')
  await dialog.getByRole('button', { name: 'Save scaling' }).click()
  await expect(dialog).toBeHidden()
})

// Not before: the log and the metrics of a replica arrive seconds after its start.
test('its events, replicas and logs are shown', async ({ page }) => {
  await page.goto('/endpoints/e2e-chat?tab=events')
  await expect(page.getByText('Now serving')).toBeVisible()
  await page.getByRole('radiogroup', { name: 'Events shown' }).getByText('Replicas').click()
  await expect(page).toHaveURL(/show=replicas/)
  await expect(page.getByText('Now serving')).toHaveCount(0)
  await expect(page.getByText('Replica ready').first()).toBeVisible()
  await expectAccessible(page)
  await page.getByRole('tab', { name: 'Replicas' }).click()
  await expect(page.getByRole('table', { name: 'Replicas' })).toContainText('Ready')
  await expect(page.getByRole('region', { name: 'Log' })).toContainText('ready after', STARTED)
  await expectAccessible(page)
  await page.getByRole('tab', { name: 'Metrics' }).click()
  await expect(page.getByRole('region', { name: 'Requests' }).getByRole('img')).toBeVisible(STARTED)
  // Sampled every ten seconds; the queue of an idle replica is zero, not unknown.
  await expect(page.getByRole('region', { name: 'Prefill queue' }).getByRole('img')).toBeVisible(STARTED)
  await expectAccessible(page)
})

test('suspending frees its GPUs, and unavailable actions say why', async ({ page }) => {
  await page.goto('/endpoints/e2e-chat')
  await page.getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend endpoint' }).click()
  await expect(page.getByRole('region', { name: 'State' }).getByText('Suspended', { exact: true })).toBeVisible()
  await expect(page.getByRole('region', { name: 'Configuration' })).toContainText('0 GPUs')
  await expect(page.getByRole('dialog')).toHaveCount(0)
  const suspend = page.getByRole('button', { name: 'Suspend', exact: true })
  await expect(suspend).toBeDisabled()
  await expect(suspend).toHaveAccessibleDescription('The endpoint is already suspended')
  await expect(page.getByRole('button', { name: 'Resume' })).toBeEnabled()
  await page.goto('/endpoints/e2e-chat?tab=replicas')
  await expect(page.getByRole('log'), 'the log of the replica that ended').toContainText('ready', STARTED)
  await page.goto('/endpoints?state=suspended')
  await expect(page.getByRole('table', { name: 'Endpoints of this workspace' })).toContainText('e2e-chat')
  await expectAccessible(page)
})

test('its GPU-hours are on the bill, and deleting requires typing the name', async ({ page }) => {
  await page.goto('/costs')
  const table = page.getByRole('table', { name: 'GPU-hours by endpoint' })
  // A second attempt of these tests makes a second endpoint of this name.
  await expect(table.getByRole('row', { name: /e2e-chat/ }).first()).toContainText(/\$0\.\d*[1-9]/, STARTED)
  await expect(table).toContainText('GPU busy')

  await page.goto('/endpoints/e2e-chat')
  await page.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  const confirm = dialog.getByRole('button', { name: 'Delete endpoint' })
  await expect(confirm).toBeDisabled()
  await dialog.getByRole('textbox').fill('e2e-chat')
  await confirm.click()
  await expect(page).toHaveURL(/\/endpoints$/)
})

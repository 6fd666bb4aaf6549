import type { Page } from '@playwright/test'
import { mutate } from './api'
import { expect, expectAccessible, loaded, SLOW, test } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'

async function call(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: CHAT, max_tokens: 2, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await response.arrayBuffer()
  return response.status
}

const statusOf = async (url: string, path: string, key: string) =>
  (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status

const row = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) })

async function runAction(page: Page, name: string, action: string) {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
}

/** Confirms that the shown secret is stored, and returns it. */
async function storeSecret(page: Page): Promise<string> {
  const secret = (await page.getByLabel('The new key').textContent()) ?? ''
  await page.getByRole('checkbox', { name: 'I have stored it' }).check()
  await page.getByRole('button', { name: 'Done' }).click()
  return secret
}

test('a key is created, used, rotated, disabled, enabled and revoked', async ({ page, forebay, expectProblem }, {
  retry,
}) => {
  expectProblem(/422.*\/keys\//)
  const name = `chat-backend-${retry}`
  test.slow() // many steps in one test
  await page.goto('/keys')
  await loaded(page)
  await expect(page.getByText(/\d+ of [\d,]+ keys/)).toBeVisible()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await expect(page.getByRole('checkbox', { name: 'Call models' })).toBeChecked()
  await expect(page.getByRole('checkbox', { name: 'See dedicated endpoints' })).not.toBeChecked()
  await page.getByRole('button', { name: 'Advanced' }).click()
  await page.getByRole('textbox', { name: 'Requests per minute' }).fill('60')
  await page.getByRole('button', { name: 'Create key' }).last().click()

  const dialog = page.getByRole('dialog', { name: 'Key created' })
  await expect(dialog.getByRole('button', { name: 'Done' })).toBeDisabled()
  await page.keyboard.press('Escape')
  await expect(dialog).toBeVisible()
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Copy key' }).click()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  const firstCall = await dialog.getByRole('region', { name: 'First call' }).textContent()
  const first = await storeSecret(page)
  expect(first).toBe(copied)
  expect(firstCall).toContain(`export FOREBAY_API_KEY=${first}`)
  expect(firstCall).toMatch(/\ncurl .*\/v1\//)
  expect(await call(forebay.url, first)).toBe(200)
  await expect(row(page, name)).toContainText('Active')
  await expect(row(page, name)).toContainText('60 requests/min')
  await expect(row(page, name)).toContainText('Calls all models')
  expect(await statusOf(forebay.url, '/v1/endpoints', first)).toBe(403)
  await expect(row(page, name)).toContainText(`${first.slice(0, 6)}`)
  await expect(page.getByText(first)).toHaveCount(0)

  await runAction(page, name, 'Rotate')
  await page.getByRole('button', { name: 'Rotate key' }).click()
  // SPEC 5.6: a client that still caches the old value keeps getting 401 until it uses the new one.
  await expect(page.getByText('The old key stops working immediately.')).toBeVisible()
  const second = await storeSecret(page)
  expect(second).not.toBe(first)
  expect(await call(forebay.url, first)).toBe(401)
  expect(await call(forebay.url, second)).toBe(200)

  const { data } = await (await page.request.get(`/api/workspaces/${forebay.workspaceId}/keys?limit=500`)).json()
  const { id } = data.find((key: { name: string }) => key.name === name)
  const rotate = `/api/workspaces/${forebay.workspaceId}/keys/${id}/rotate`
  const { key: third } = await mutate(page.request, 'POST', rotate, { overlapSeconds: 3_600 })
  await expect(row(page, name)).toContainText(/old value until .*, end now/)
  expect(await call(forebay.url, second)).toBe(200)
  await row(page, name).getByRole('button', { name: 'end now' }).click()
  await expect(row(page, name)).not.toContainText('old value')
  expect(await call(forebay.url, second)).toBe(401)

  await runAction(page, name, 'Edit')
  await page.getByRole('textbox', { name: 'Requests per minute' }).fill('9999')
  await expect(page.getByText(/Without effect: the workspace has \d+/)).toBeVisible()
  const allowedModels = page.getByRole('combobox', { name: 'Models' })
  await allowedModels.fill('forebay/none*')
  await allowedModels.press('Enter')
  await page.getByRole('combobox', { name: 'Labels' }).fill('team=search')
  await page.keyboard.press('Enter')
  await page.getByRole('combobox', { name: 'Addresses' }).fill('10.0.0.0/99')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Save key' }).click()
  await expect(page.getByText(/`10.0.0.0\/99`: must be an address/)).toBeVisible()
  await expectAccessible(page)
  await page.getByRole('combobox', { name: 'Addresses' }).press('Backspace')
  await page.getByRole('button', { name: 'Save key' }).click()
  await expect(row(page, name)).toContainText('9,999 requests/min')
  await expect(row(page, name)).toContainText('team=search')
  expect(await call(forebay.url, third)).toBe(404)
  await runAction(page, name, 'Edit')
  await allowedModels.press('Backspace')
  await page.getByRole('button', { name: 'Save key' }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  expect(await call(forebay.url, third)).toBe(200)

  await runAction(page, name, 'Disable')
  await expect(row(page, name)).toContainText('Disabled')
  expect(await call(forebay.url, third)).toBe(401)
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await expect(page.getByRole('menuitem', { name: 'Rotate' })).toContainText('Enable the key first')
  await page.getByRole('menuitem', { name: 'Enable', exact: true }).click()
  await expect(row(page, name)).toContainText('Active')
  expect(await call(forebay.url, third)).toBe(200)

  // A disabled key can be revoked, so that a leaked one need not work again before.
  await runAction(page, name, 'Disable')
  await expect(row(page, name)).toContainText('Disabled')

  await runAction(page, name, 'Revoke')
  const confirm = page.getByRole('dialog', { name: 'Revoke key' })
  await expect(confirm.getByRole('button', { name: 'Revoke key' })).toBeDisabled()
  await confirm.getByRole('textbox').fill(name)
  await confirm.getByRole('button', { name: 'Revoke key' }).click()
  await expect(confirm).toHaveCount(0)
  await expect(row(page, name)).toHaveCount(0)
  expect(await call(forebay.url, third)).toBe(401)
  await page.getByText(/^All \d+$/).click()
  await expect(page).toHaveURL(/\?show=all$/)
  await expect(row(page, name)).toContainText('Revoked')
})

test('the keys of a removed member are found and revoked together', SLOW, async ({ page, signedOut }) => {
  test.slow() // two browsers
  const email = `ben-${Date.now()}@example.com`
  const { currentOrganizationId, currentWorkspaceId } = await (await page.request.get('/api/session')).json()
  const organization = `/api/organizations/${currentOrganizationId}`
  const workspaceIds = [currentWorkspaceId]
  const body = { email, role: 'member', workspaceIds }
  const { url } = await mutate(page.request, 'POST', `${organization}/invitations`, body)
  const accepted = await signedOut.request.post('/api/invitations/accept', {
    data: { token: url.split('#')[1], password: 'a long enough password' },
  })
  const { user } = await accepted.json()
  for (const name of [`${email} one`, `${email} two`])
    await mutate(signedOut.request, 'POST', `/api/workspaces/${currentWorkspaceId}/keys`, { name })

  await page.goto('/keys')
  await loaded(page)
  await expect(row(page, `${email} one`)).toContainText(email)
  await mutate(page.request, 'DELETE', `${organization}/members/${user.id}`)
  await page.goto('/keys')
  await loaded(page)
  await page.getByRole('combobox', { name: 'Creator' }).click()
  await page.getByRole('option', { name: 'Removed members' }).click()
  await expect(page).toHaveURL(/\?creator=removed$/)
  await expect(row(page, `${email} two`)).toContainText('Removed member')
  await expectAccessible(page)
  await page.getByRole('button', { name: /^Revoke \d+ keys$/ }).click()
  const confirm = page.getByRole('dialog', { name: 'Revoke keys' })
  await expect(confirm.getByText(`${email} one`)).toBeVisible()
  const typed = (await confirm.locator('code').textContent()) ?? ''
  await expectAccessible(page)
  await confirm.getByRole('textbox').fill(typed)
  await confirm.getByRole('button', { name: /^Revoke \d+ keys$/ }).click()
  await expect(confirm).toHaveCount(0)
  await expect(page.getByText('No matching keys')).toBeVisible()
})

test('a key shows what it may do, has spent and has left; its calls are rejected once the budget is spent', async ({
  page,
  forebay,
}) => {
  const keys = `/api/workspaces/${forebay.workspaceId}/keys`
  const restrictions = { permissions: ['inference'], allowedModels: ['forebay/*'], labels: { team: 'search' } }
  const key = await mutate(page.request, 'POST', keys, { name: `spent-${Date.now()}`, ...restrictions })
  expect(await call(forebay.url, key.key)).toBe(200)
  const budgets = [{ window: 'month', usd: '0.000000001' }]
  await mutate(page.request, 'PATCH', `${keys}/${key.id}`, { budgets })
  await expect.poll(() => call(forebay.url, key.key), { timeout: 30_000 }).toBe(429)

  await page.goto(`/keys/${key.id}`)
  await loaded(page)
  const may = page.getByRole('region', { name: 'What it may do' })
  for (const text of ['Call models', 'forebay/*', 'From anywhere', 'team=search']) await expect(may).toContainText(text)
  const panel = page.getByRole('region', { name: 'What it has spent' })
  // Spending is written in batches, shortly after a call.
  await expect(panel).toContainText('Calls that cost anything are rejected with budget_exceeded.', { timeout: 60_000 })
  await expect(panel.getByRole('progressbar', { name: /% used$/ })).toHaveAttribute('aria-valuenow', '100')
  await expect(panel).toContainText(/used \([\d,]+%\).*\$0\.00 left until/)
  await expect(panel).toContainText(/Calls1/)
  await expect(page.getByRole('table', { name: 'Usage by model' }).getByRole('row', { name: CHAT })).toContainText(
    '100%',
  )
  await expectAccessible(page)
})

import { mutate } from './api'
import { expect, expectAccessible, follow, loaded, signInAs, test } from './fixtures'
import { SERVER_KEY, startModelServer } from './model-server'
import { dragOver } from './page-states'

/** Tests share one server and run in parallel. */
const unique = () => `${Date.now()}-${Math.floor(Math.random() * 1e6)}`

test('the limits of another organization’s workspace are changed', async ({
  page,
  playwright,
  forebay,
  expectProblem,
}) => {
  expectProblem(/409.*\/api\/operator\/workspaces\//)
  const { id } = await mutate(page.request, 'POST', '/api/organizations', { name: `Tenant ${unique()}` })
  // A session of its own, because other tests need the context of the shared one.
  const own = await playwright.request.newContext({ baseURL: forebay.url, storageState: { cookies: [], origins: [] } })
  await own.post('/api/session', { data: { email: forebay.email, password: forebay.password } })
  await mutate(own, 'PUT', '/api/session/context', { organizationId: id })
  const workspace = await mutate(own, 'POST', '/api/workspaces', { name: 'Labs' })
  await page.goto(`/operator/organizations/${id}`)
  await loaded(page)
  await page.getByRole('button', { name: 'Change limits of Labs' }).click()
  const dialog = page.getByRole('dialog', { name: 'Limits of Labs' })
  await dialog.getByRole('textbox', { name: 'Tokens per month' }).fill('12345')
  await mutate(page.request, 'PATCH', `/api/operator/workspaces/${workspace.id}`, { version: 1, maxApiKeys: 3 })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog.getByRole('alert')).toContainText('version_conflict')
  await dialog.getByRole('button', { name: 'Load the current version' }).click()
  await dialog.getByRole('textbox', { name: 'Tokens per month' }).fill('12345')
  await dialog.getByRole('textbox', { name: 'Requests per minute' }).fill('')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog).toHaveCount(0)
  await expect(page.getByRole('row', { name: /Labs/ })).toContainText('12,345')
  const { data } = await (await page.request.get(`/api/audit?subject=${workspace.id}`)).json()
  expect(data.map((entry: { action: string }) => entry.action)).toContain('workspace.set')
  await mutate(own, 'DELETE', `/api/workspaces/${workspace.id}`)
  await own.dispose()
  await mutate(page.request, 'DELETE', `/api/organizations/${id}`)
})

test('an organization is created, gets a member and an allotment, and is deleted', async ({ page, expectProblem }) => {
  expectProblem(/409.*\/api\/operator\/organizations\//)
  const name = `Tenant ${unique()}`
  const email = `${unique()}@example.com`
  await page.goto('/operator/organizations')
  await loaded(page)
  await page.getByRole('button', { name: 'New organization' }).click()
  const creation = page.getByRole('dialog', { name: 'New organization' })
  await creation.getByRole('textbox', { name: 'Name' }).fill(name)
  await creation.getByRole('textbox', { name: 'First administrator' }).fill(`first-${email}`)
  await creation.getByRole('textbox', { name: 'First workspace' }).fill('')
  await creation.getByRole('textbox', { name: 'USD per month' }).fill('250')
  await creation.getByRole('button', { name: 'Create organization' }).click()
  await expect(creation.getByLabel('Invitation link')).toContainText('/invitation#')
  await creation.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name }).click()
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
  const organizationId = new URL(page.url()).pathname.split('/').at(-1)

  const bounds = page.getByRole('region', { name: 'Limits of the organization' })
  const bound = (label: string) => bounds.getByRole('listitem').filter({ hasText: label })
  await expect(bound('USD per month')).toContainText(/\$0\.00 of \$250\.00 used \(0%\).*\$250\.00 left/)
  await expect(bound('USD per month')).toContainText('When it is spent: endpoints continue')
  await expect(bound('Requests per minute')).toContainText('0 used, no limit')
  await bounds.getByRole('button', { name: 'Change limits' }).click()
  const limits = page.getByRole('dialog', { name: `Limits of ${name}` })
  await limits.getByRole('textbox', { name: 'Requests per minute' }).fill('500')
  await limits.getByRole('button', { name: 'Save' }).click()
  await expect(limits).toHaveCount(0)
  await expect(bound('Requests per minute')).toContainText(/0 of 500 used.*500 left/)

  await page.goto('/operator/users')
  await loaded(page)
  await page.getByRole('button', { name: 'New user' }).click()
  const dialog = page.getByRole('dialog', { name: 'New user' })
  await dialog.getByRole('textbox', { name: 'Email' }).fill(email)
  await dialog.getByRole('combobox', { name: 'Organization' }).click()
  await page.getByRole('option', { name }).click()
  await dialog.getByRole('button', { name: 'Create user' }).click()
  await expect(dialog.getByLabel('The new password')).not.toBeEmpty()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await expect(page.getByRole('row', { name: new RegExp(email) })).toContainText(name)
  await expectAccessible(page)

  await page.goto(`/operator/organizations/${organizationId}`)
  await loaded(page)
  await expect(page.getByRole('table', { name: 'Members' })).toContainText(email)
  await page.getByRole('button', { name: 'Change local/cpu' }).click()
  await page.getByRole('dialog').getByRole('textbox', { name: 'GPUs' }).fill('3')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('table', { name: 'Allotments' })).toContainText('3')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill(name)
  await page.getByRole('button', { name: 'Delete organization' }).click()
  await expect(page).toHaveURL(/\/operator\/organizations$/)
  await expect(page.getByRole('link', { name })).toHaveCount(0)
})

test('a user that the operator creates lands in the workspace of the organization', async ({
  page,
  playwright,
  forebay,
}) => {
  const name = `Tenant ${unique()}`
  const email = `${unique()}@example.com`
  const { id } = await mutate(page.request, 'POST', '/api/organizations', { name })
  const workspace = await mutate(page.request, 'POST', `/api/operator/organizations/${id}/workspaces`, { name: 'Labs' })
  await page.goto('/operator/users')
  await loaded(page)
  await page.getByRole('button', { name: 'New user' }).click()
  const dialog = page.getByRole('dialog', { name: 'New user' })
  await dialog.getByRole('textbox', { name: 'Email' }).fill(email)
  await dialog.getByRole('combobox', { name: 'Organization' }).click()
  await page.getByRole('option', { name }).click()
  await expect(dialog.getByText('Labs')).toBeVisible()
  await dialog.getByRole('button', { name: 'Create user' }).click()
  const shown = dialog.getByLabel('The new password')
  await expect(shown).not.toBeEmpty()
  const own = await playwright.request.newContext({ baseURL: forebay.url, storageState: { cookies: [], origins: [] } })
  await mutate(own, 'POST', '/api/session', { email, password: ((await shown.textContent()) ?? '').trim() })
  const session = await (await own.get('/api/session')).json()
  expect(session.currentWorkspaceId).toBe(workspace.id)
  await own.dispose()
})

test('the operator sees load and largest users once calls have arrived, instead of first steps', async ({
  page,
  forebay,
}) => {
  test.slow() // waits for calls to be booked
  await page.request.post(`${forebay.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${forebay.apiKey}` },
    data: {
      model: 'forebay/smollm2-135m-instruct',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 4,
    },
  })
  await page.goto('/operator')
  await loaded(page)
  const users = page.getByRole('table', { name: 'Largest users: Organizations' })
  await expect(users).toContainText('Default', { timeout: 60_000 })
  await page.getByRole('radiogroup', { name: 'Users' }).getByText('Keys').click()
  await expect(page.getByRole('table', { name: 'Largest users: Keys' })).toContainText('bootstrap')
  for (const title of ['Calls per second', 'Tokens per second', 'Error rate', 'Latency'])
    await expect(page.getByRole('region', { name: title }).getByRole('img').first()).toBeVisible({ timeout: 60_000 })
  await expect(page.getByRole('region', { name: 'First steps' })).toHaveCount(0)
  await expectAccessible(page)
  const calls = page.getByRole('region', { name: 'Calls per second' }).getByRole('img').first()
  await calls.scrollIntoViewIfNeeded()
  await dragOver(page, calls)
  await expect(page).toHaveURL(/from=.*&to=/)
  await page.getByRole('button', { name: 'Back to now' }).click()
  await expect(page).toHaveURL(/\/operator\?top=key$/)

  await page.goto('/operator/organizations')
  await loaded(page)
  const organizations = page.getByRole('table', { name: 'Organizations' })
  const header = organizations.getByRole('columnheader', { name: 'Calls', exact: true })
  for (const direction of ['ascending', 'descending']) {
    await header.getByRole('button').click()
    await expect(header).toHaveAttribute('aria-sort', direction)
  }
  await expect(page).toHaveURL(/sort=-requests/)
  await expect(organizations.getByRole('rowheader').first()).toHaveText('Default')
  await expect(organizations).not.toContainText('–')
})

test('nodes, checks and errors are shown', async ({ page, forebay }) => {
  const failed = await page.request.post(`${forebay.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${forebay.apiKey}` },
    data: { model: 'acme/none', messages: [{ role: 'user', content: 'Hello' }] },
  })
  expect(failed.status()).toBe(404)
  await page.goto('/operator/health')
  await loaded(page)
  const nodes = page.getByRole('table', { name: 'Nodes' })
  await expect(nodes).toContainText('Leader')
  await expect(nodes).toContainText(/\d+ calls?/)
  await page.setViewportSize({ width: 1280, height: 800 })
  const frame = page.getByRole('region', { name: 'Nodes of the installation' })
  expect(await frame.evaluate((box) => box.scrollWidth - box.clientWidth), 'hidden pixels').toBe(0)
  await expect(nodes).toContainText(/Ready|Degraded/)
  const checks = page.getByRole('region', { name: 'Checks', exact: true })
  await checks.getByText(/^Show all \d+ checks$/).click()
  await expect(checks.getByRole('table', { name: 'All checks' })).toContainText('store')
  await expect(page.getByRole('region', { name: 'Recent errors' })).toContainText('model_not_found', {
    timeout: 90_000,
  })
  const bills = page.getByRole('region', { name: 'Bills against engine counters' })
  await expect(bills).toContainText('The difference is what was billed beyond what the engine counted', {
    timeout: 90_000,
  })
  await expect(bills.getByRole('row', { name: /smollm2-135m-instruct/ })).toBeVisible()
  await expectAccessible(page)
})

test('the operator sees which calls wait, and of which workspace', async ({ page, forebay }) => {
  const busy = await startModelServer()
  const id = `acme/busy-${unique()}`
  const upstreams = [{ url: busy.url, model: 'Acme/Echo-1', apiKey: SERVER_KEY, maxInFlight: 1 }]
  await mutate(page.request, 'POST', '/api/operator/models', {
    id,
    contextLength: 4096,
    queueTimeout: '60s',
    upstreams,
  })
  const headers = { authorization: `Bearer ${forebay.apiKey}` }
  const call = async () => {
    const data = { model: id, messages: [{ role: 'user', content: 'Hello' }] }
    return (await page.request.post('/v1/chat/completions', { headers, data })).status()
  }
  await expect.poll(call, { timeout: 30_000 }).toBe(200)
  const release = busy.hold()
  const calls = [call(), call(), call()]
  await page.goto('/operator/health')
  await loaded(page)
  const queues = page.getByRole('region', { name: 'Queues', exact: true })
  const row = queues.getByRole('row').filter({ hasText: id })
  await expect(row).toContainText('Interactive', { timeout: 30_000 })
  await expect(row.getByRole('link', { name: 'Default' })).toHaveAttribute('href', /\/operator\/organizations\/org_/)
  await expect(row.getByRole('cell').nth(3), 'one of three runs').toHaveText('2', { timeout: 30_000 })
  await expectAccessible(page)
  release()
  expect(await Promise.all(calls)).toEqual([200, 200, 200])
  await expect(row).toHaveCount(0, { timeout: 30_000 })
  await mutate(page.request, 'DELETE', `/api/operator/models/${encodeURIComponent(id)}`)
  await busy.stop()
})

test('others neither see the operator’s pages nor cause requests for them', async ({ page, signedOut, forebay }) => {
  const admin = { email: `${unique()}@example.com`, password: 'a password of some length' }
  const user = { ...admin, organizationId: forebay.organizationId, role: 'admin' }
  const { id } = await mutate(page.request, 'POST', '/api/users', user)
  await signInAs(signedOut, admin)
  const requested: string[] = []
  signedOut.on('request', (request) => requested.push(new URL(request.url()).pathname))
  await signedOut.goto('/')
  await loaded(signedOut)
  await expect(signedOut.getByRole('link', { name: 'Organizations' })).toHaveCount(0)
  for (const path of ['', '/health', '/models', '/models/new', '/models/acme/x', '/organizations', '/users']) {
    await follow(signedOut, `/operator${path}`)
    await expect(signedOut.getByText('This page is for the operator')).toBeVisible()
  }
  expect(requested.filter((path) => path.startsWith('/api/operator') || path === '/api/users')).toEqual([])
  await mutate(page.request, 'DELETE', `/api/users/${id}`)
})

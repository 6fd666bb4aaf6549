import { mutate } from './api'
import { expect, expectAccessible, loaded, SLOW, signInAs, test } from './fixtures'
import { type ModelServer, SERVER_KEY, startModelServer } from './model-server'

/** Tests share one server and run in parallel. */
const unique = () => `${Date.now()}-${Math.floor(Math.random() * 1e6)}`
const modelPath = (id: string) => `/api/operator/models/${encodeURIComponent(id)}`

let server: ModelServer
test.beforeAll(async () => {
  server = await startModelServer()
})
test.afterAll(() => server.stop())

test('a server is added by its address, tested, called, priced, disabled and deleted', async ({ page, forebay }) => {
  test.slow() // many steps in one test
  const id = `acme/echo-${unique()}`
  await page.goto('/operator/models')
  await loaded(page)
  const smol = page.getByRole('row', { name: /SmolLM2/ })
  await expect(smol).toContainText('Configuration file')
  await page.getByRole('link', { name: 'Add model' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Add model' })).toBeVisible()

  // A wrong key: the server says so, and nothing is added.
  await page.getByRole('textbox', { name: 'Address' }).fill(server.url)
  await page.getByRole('button', { name: 'Connect' }).click()
  await expect(page.getByRole('alert')).toContainText('The server cannot be used')
  await page.getByRole('textbox', { name: 'Key' }).fill(SERVER_KEY)
  await expect(page.getByRole('alert')).toHaveCount(0)
  await page.getByRole('button', { name: 'Connect' }).click()
  const offer = page.getByRole('region', { name: '2. What the server offers' })
  await expect(offer).toContainText(/Responded in [\d.]+ m?s/)
  await expect(offer).toContainText('4,096 tokens')
  await offer.getByRole('combobox', { name: 'Model to offer' }).click()
  await page.getByRole('option', { name: 'Acme/Echo-2' }).click()
  const form = page.getByRole('region', { name: '3. Name, prices and limits' })
  await expect(form.getByRole('textbox', { name: 'Model ID' })).toHaveValue('acme/echo-2')
  await expectAccessible(page)
  await form.getByRole('textbox', { name: 'Model ID' }).fill(id)
  await form.getByRole('textbox', { name: 'Name', exact: true }).fill('Echo')
  await form.getByRole('textbox', { name: 'Input price', exact: true }).fill('0.10')
  await form.getByRole('textbox', { name: 'Output price' }).fill('0.40')
  await form.getByRole('button', { name: 'Add model' }).click()

  await expect(page).toHaveURL(new RegExp(`/operator/models/${id}$`))
  await expect(page.getByRole('heading', { level: 1, name: 'Echo' })).toBeVisible()
  await page.getByRole('button', { name: 'Send test call' }).click()
  const outcome = page.getByRole('region', { name: 'Test' })
  await expect(outcome).toContainText('The model responded')
  await expect(outcome).toContainText('Hello from the echo')
  // However long the response is, it leaves the health of the servers visible.
  const titles = await page.getByRole('heading', { level: 2 }).allTextContents()
  expect(titles.indexOf('State')).toBeLessThan(titles.indexOf('Test'))
  await expect(outcome.locator('pre')).not.toHaveCSS('max-height', 'none')
  await expect(page.getByText(SERVER_KEY)).toHaveCount(0)
  await expectAccessible(page)

  // Clients can call it.
  const call = () =>
    page.request.post(`${forebay.url}/v1/chat/completions`, {
      headers: { authorization: `Bearer ${forebay.apiKey}` },
      data: { model: id, messages: [{ role: 'user', content: 'Hello' }] },
    })
  await expect.poll(async () => (await call()).status()).toBe(200)

  // A new price is in the history, beside the old one.
  const details = page.getByRole('region', { name: 'Details and prices' })
  await details.getByRole('textbox', { name: 'Output price' }).fill('0.50')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page.getByText('Model saved')).toBeVisible()
  await expect(page.getByRole('region', { name: 'Price history' })).toContainText('$0.50')

  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disable model' }).click()
  await expect(page.getByText('Disabled', { exact: true })).toBeVisible()
  await expect.poll(async () => (await call()).status()).toBe(404)

  await page.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete model' })
  await dialog.getByRole('textbox').fill(id)
  await dialog.getByRole('button', { name: 'Delete model' }).click()
  await expect(page).toHaveURL(/\/operator\/models$/)
  await expect(page.getByRole('row', { name: new RegExp(id) })).toHaveCount(0)
})

test(
  'an edit of an outdated model is a conflict that loses nothing silently',
  SLOW,
  async ({ page, expectProblem }) => {
    expectProblem(/409.*\/api\/operator\/models\//)
    const id = `acme/edited-${unique()}`
    const upstreams = [{ url: server.url, model: 'Acme/Echo-1', apiKey: SERVER_KEY }]
    const { version } = await mutate(page.request, 'POST', '/api/operator/models', {
      id,
      name: 'Mine',
      contextLength: 4096,
      upstreams,
    })
    await page.goto(`/operator/models/${id}`)
    await loaded(page)
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('Ours')
    await mutate(page.request, 'PATCH', modelPath(id), { version, name: 'Theirs' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expect(page.getByRole('alert')).toContainText('version_conflict')
    await expect(name).toHaveValue('Ours')
    await page.getByRole('button', { name: 'Load the current version' }).click()
    await expect(name).toHaveValue('Theirs')
    // The key is not shown, and stays without being entered again.
    await expect(page.getByRole('textbox', { name: 'Key' })).toHaveAttribute('placeholder', 'Unchanged')
    await mutate(page.request, 'DELETE', modelPath(id))
  },
)

test('a model of the file is shown and cannot be changed', async ({ page }) => {
  await page.goto('/operator/models/forebay/smollm2-135m-instruct')
  await loaded(page)
  await expect(page.getByRole('region', { name: 'Definition' })).toContainText('8,192 tokens')
  await expect(page.getByRole('button', { name: 'Save', exact: true })).toHaveCount(0)
  await expect(page.getByRole('button', { name: 'Delete' })).toHaveCount(0)
  await expectAccessible(page)
})

test('streams may go on at another server once every engine is known', SLOW, async ({ page, expectProblem }) => {
  expectProblem(/422.*\/api\/operator\/models\//)
  const id = `acme/continued-${unique()}`
  const upstreams = [{ url: server.url, model: 'Acme/Echo-1', apiKey: SERVER_KEY }]
  await mutate(page.request, 'POST', '/api/operator/models', { id, upstreams })
  await page.goto(`/operator/models/${id}`)
  await loaded(page)
  const failover = page.getByRole('checkbox', { name: 'Continue streams at another server' })
  const save = page.getByRole('button', { name: 'Save', exact: true })
  await page.getByText('Caches, images, streams and thinking').click()
  await failover.check()
  await save.click()
  await expect(page.getByText('needs the `engine` of every upstream')).toBeVisible()
  await page.getByRole('combobox', { name: 'Engine' }).click()
  await page.getByRole('option', { name: 'vLLM' }).click()
  await save.click()
  await expect(page.getByText('Model saved')).toBeVisible()
  const { failover: isOn, upstreams: saved } = await (await page.request.get(modelPath(id))).json()
  expect([isOn, saved[0].engine]).toEqual([true, 'vllm'])
  await expectAccessible(page)
  await mutate(page.request, 'DELETE', modelPath(id))
})

test('a model is offered in flavors that are checked against the nodes', SLOW, async ({ page, expectProblem }) => {
  expectProblem(/422.*\/api\/operator\/models/)
  const id = `acme/dedicated-${unique()}`
  await page.goto('/operator/models/new?how=dedicated')
  await loaded(page)
  await page.getByRole('textbox', { name: 'Model ID' }).fill(id)
  await page.getByRole('combobox', { name: 'GPU type' }).click()
  await page.getByRole('option', { name: /^local\/cpu, \d+ of \d+ free on 1 node/ }).click()
  const fit = page.getByRole('status', { name: 'Fit' })
  await expect(fit).toContainText(/Fits \d+ replicas? on all nodes/)
  const gpus = page.getByRole('textbox', { name: 'GPUs per replica' })
  await gpus.fill('1000')
  await expect(fit).toContainText('Does not fit a replica needs 1000 GPUs on one node')
  await gpus.fill('1')
  await expect(page.getByRole('textbox', { name: 'Flavor name' })).toHaveValue('cpu-1x')
  const weights = page.getByRole('textbox', { name: 'Weights of the flavor' })
  await weights.fill('relative.gguf')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Add model' }).click()
  await expect(weights).toHaveAttribute('aria-invalid', 'true')
  await weights.fill('/srv/none.gguf')
  await page.getByRole('button', { name: 'Add model' }).click()
  await expect(page).toHaveURL(new RegExp(`/operator/models/${id}$`))

  const flavors = page.getByRole('region', { name: 'Flavors', exact: true })
  await flavors.getByRole('button', { name: 'Change cpu-1x' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('When endpoints scale up').click()
  await dialog.getByRole('textbox', { name: 'Prompt tokens per replica' }).fill('4096')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog).toHaveCount(0)
  const saved = async () => (await (await page.request.get(modelPath(id))).json()).flavors
  expect((await saved())[0]).toMatchObject({ name: 'cpu-1x', prefillTarget: 4096, weights: '/srv/none.gguf' })
  await flavors.getByRole('button', { name: 'Add flavor' }).click()
  await dialog.getByRole('combobox', { name: 'GPU type' }).fill('nvidia/b200')
  await expect(dialog.getByRole('status', { name: 'Fit' })).toContainText('no node has GPUs of the type nvidia/b200')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(flavors.getByRole('row', { name: /b200-1x/ })).toBeVisible()
  await flavors.getByRole('button', { name: 'Delete cpu-1x' }).click()
  await page.getByRole('button', { name: 'Delete flavor' }).click()
  await expect(flavors.getByRole('row', { name: /cpu-1x/ })).toHaveCount(0)
  expect((await saved()).map((flavor: { name: string }) => flavor.name)).toEqual(['b200-1x'])
  await mutate(page.request, 'DELETE', modelPath(id))
})

test('a flavor that another operator changed meanwhile is a conflict', SLOW, async ({ page, expectProblem }) => {
  expectProblem(/409.*\/api\/operator\/models\//)
  const id = `acme/contested-${unique()}`
  const flavor = { name: 'cpu-1x', gpuType: 'local/cpu', weights: '/srv/none.gguf' }
  const { version } = await mutate(page.request, 'POST', '/api/operator/models', { id, flavors: [flavor] })
  await page.goto(`/operator/models/${id}`)
  await loaded(page)
  const flavors = page.getByRole('region', { name: 'Flavors', exact: true })
  await flavors.getByRole('button', { name: 'Change cpu-1x' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Precision' }).fill('fp8')
  await mutate(page.request, 'PATCH', modelPath(id), { version, flavors: [{ ...flavor, pricePerGpuHour: '7.25' }] })
  // The page behind the dialog shows the new price by now.
  await expect(page.getByText('$7.25').first()).toBeVisible({ timeout: 15_000 })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog.getByRole('alert')).toContainText('version_conflict')
  const [{ pricePerGpuHour }] = (await (await page.request.get(modelPath(id))).json()).flavors
  expect(pricePerGpuHour).toBe('7.25')
  await mutate(page.request, 'DELETE', modelPath(id))
})

test(
  'an alias of the catalogue is created, changed after a conflict, and deleted',
  SLOW,
  async ({ page, expectProblem }) => {
    expectProblem(/4\d\d.*\/api\/operator\/aliases/)
    const name = `alias-${unique()}`
    const [chat, embedding] = ['forebay/smollm2-135m-instruct', 'sentence-transformers/all-minilm-l6-v2']
    await page.goto('/operator/models')
    await loaded(page)
    const panel = page.getByRole('region', { name: 'Aliases', exact: true })
    await panel.getByRole('button', { name: 'Add alias' }).click()
    const dialog = page.getByRole('dialog')
    const choose = async (id: string) => {
      await dialog.getByRole('combobox', { name: 'Model' }).click()
      await page.getByRole('option', { name: id }).click()
    }
    const field = dialog.getByRole('textbox', { name: 'Name' })
    await field.fill('dedicated/mine')
    await choose(chat)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect(field).toHaveAttribute('aria-invalid', 'true')
    await field.fill(name)
    await dialog.getByRole('button', { name: 'Save' }).click()
    const row = page.getByRole('row').filter({ hasText: name })
    await expect(row).toContainText(chat)
    await expect(row).toContainText('Store')
    await expectAccessible(page)

    await row.getByRole('button', { name: `Change ${name}` }).click()
    await mutate(page.request, 'PATCH', `/api/operator/aliases/${name}`, { version: 1, model: embedding })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect(dialog.getByRole('alert')).toContainText('version_conflict')
    await dialog.getByRole('button', { name: 'Load the current version' }).click()
    await expect(dialog.getByRole('combobox', { name: 'Model' })).toHaveValue(embedding)
    await choose(chat)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect(dialog).toHaveCount(0)
    await expect(row).toContainText(chat)

    await row.getByRole('button', { name: `Delete ${name}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete alias' }).click()
    await expect(row).toHaveCount(0)
  },
)

// Replicas are sampled every ten seconds.
test(
  'the page of a model shows the queues of its replicas, if there are several, to the operator only',
  SLOW,
  async ({ page, signedOut, forebay }) => {
    test.slow()
    const second = await startModelServer()
    const id = `acme/pair-${unique()}`
    const upstreams = [server.url, second.url].map((url) => ({ url, model: 'Acme/Echo-1', apiKey: SERVER_KEY }))
    await mutate(page.request, 'POST', '/api/operator/models', { id, contextLength: 4096, upstreams })
    const queue = { name: 'Prefill queue by replica' }
    await page.goto(`/models/${id}`)
    const chart = page.getByRole('region', queue).getByRole('img')
    const idle = (replica: number) => `${id}#${replica}: from 0 to 0`
    await expect(chart).toHaveAccessibleName(new RegExp(`${idle(1)}; ${idle(2)}$`), { timeout: 60_000 })
    await expectAccessible(page)

    const response = page.waitForResponse(/smollm2-135m-instruct\/prefill-queue\?/)
    await page.goto('/models/forebay/smollm2-135m-instruct')
    expect((await (await response).json()).data).toEqual([])
    await loaded(page)
    await expect(page.getByRole('region', queue)).toHaveCount(0)

    const admin = { email: `${unique()}@example.com`, password: 'a password of some length' }
    const { organizationId, workspaceId } = forebay
    const user = await mutate(page.request, 'POST', '/api/users', { ...admin, organizationId, role: 'admin' })
    await signInAs(signedOut, admin)
    await mutate(signedOut.request, 'PUT', '/api/session/context', { organizationId, workspaceId })
    const requested: string[] = []
    signedOut.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await signedOut.goto(`/models/${id}`)
    await loaded(signedOut)
    await expect(signedOut.getByRole('region', { name: 'Cache hit rate', exact: true })).toBeVisible()
    await expect(signedOut.getByRole('region', queue)).toHaveCount(0)
    expect(requested.filter((path) => path.startsWith('/api/operator'))).toEqual([])

    // A page of a deleted user would still ask for its charts.
    await signedOut.close()
    await mutate(page.request, 'DELETE', `/api/users/${user.id}`)
    await mutate(page.request, 'DELETE', modelPath(id))
    await second.stop()
  },
)

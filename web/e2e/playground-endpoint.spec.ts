/** The Playground wakes a dedicated endpoint, whose engine starts late enough to see the call wait. */

import { dirname, join } from 'node:path'
import { test as base } from '@playwright/test'
import { expect, expectAccessible, loaded, signInAs } from './fixtures'
import { type Forebay, PROGRAM, startEngine, startForebay, WEIGHTS } from './forebay'

const ENGINE = join(dirname(PROGRAM), 'forebay-engine')
const START_SECONDS = 4
const model = (url: string) => `
[[models]]
id = "acme/slow"
context_length = 2048
upstreams = [{ url = "${url}", model = "slow" }]
[[models.flavors]]
name = "cpu-1x"
gpu_type = "local/cpu"
weights = "${WEIGHTS}"
argv = ["sh", "-c", "sleep ${START_SECONDS}; exec ${ENGINE} --model {weights} --model-name {modelId} --ctx 2048 --parallel 2 --threads 1 --listen {host}:{port}"]
`

const test = base.extend<object, { gateway: Forebay }>({
  gateway: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from this pattern.
    async ({}, use) => {
      const engine = await startEngine('slow')
      const gateway = await startForebay({ withModels: false, extra: model(engine.url) })
      await use(gateway)
      await gateway.stop()
      await engine.stop()
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ gateway }, use) => use(gateway.url),
})

// SPEC 1: the Playground calls the same `/v1` gateway. SPEC 3: a request to an endpoint that is not serving is held.
test('the Playground resumes an endpoint, and a call is held until it is up', async ({ page, gateway }) => {
  const headers = { authorization: `Bearer ${gateway.apiKey}` }
  const data = { name: 'slow', model: 'acme/slow', flavor: 'cpu-1x' }
  expect((await page.request.post('/v1/endpoints', { headers, data })).status()).toBe(201)
  expect((await page.request.post('/v1/endpoints/slow/suspend', { headers })).status()).toBe(200)
  await signInAs(page, gateway)

  await page.goto('/playground?model=dedicated%2Fslow')
  await loaded(page)
  await page.getByRole('textbox', { name: 'Max tokens' }).fill('8')
  const message = page.getByRole('textbox', { name: 'Message' })
  await expect(message).toHaveAccessibleDescription(/dedicated\/slow is suspended/)
  await page.getByRole('button', { name: 'Resume slow' }).click()
  await message.fill('Say hello')
  await page.getByRole('button', { name: 'Send' }).click()
  const response = page.getByRole('region', { name: 'Response from dedicated/slow' })
  await expect(response).toContainText(/your call is held, \d/)
  await expectAccessible(page)
  await expect(response).toHaveAttribute('data-state', 'done', { timeout: 30_000 })
})

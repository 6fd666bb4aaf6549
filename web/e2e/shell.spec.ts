import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, expectAccessible, expectNoAxeFinding, loaded, SLOW, signInAs, test } from './fixtures'
import { startForebay } from './forebay'
import { serveOtherBuild } from './other-build'

const NAVIGATION = [
  ['Model Library', '/models'],
  ['Playground', '/playground'],
  ['API keys', '/keys'],
  ['Endpoints', '/endpoints'],
  ['Batches', '/batches'],
  ['Costs', '/costs'],
  ['Observability', '/observability'],
  ['Members', '/members'],
  ['Audit log', '/audit'],
  ['Settings', '/settings'],
] as const

test('the navigation leads to every page and marks the current one', async ({ page }) => {
  await page.goto('/')
  await expect(page, 'operators begin with their overview').toHaveURL(/\/operator$/)
  for (const [name, path] of NAVIGATION) {
    const link = page.getByRole('navigation').getByRole('link', { name, exact: true })
    await link.click()
    await expect(page).toHaveURL((url) => url.pathname === path)
    await expect(link).toHaveAttribute('aria-current', 'page')
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
    await expect(page).toHaveTitle(`${name} · Forebay`)
  }
})

test('until the session is known, the page is where it will be', async ({ page }) => {
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  await page.route('**/api/session', async (route) => {
    await held
    await route.continue()
  })
  await page.goto('/models')
  const left = async (name: string) => (await page.getByRole('status', { name }).first().boundingBox())?.x
  await expect.poll(() => left('Loading')).toBeGreaterThan(200)
  const before = await left('Loading')
  answer()
  await expect(page.getByRole('heading', { level: 1, name: 'Model Library' })).toBeVisible()
  const heading = await page.getByRole('heading', { level: 1, name: 'Model Library' }).boundingBox()
  expect(Math.abs((heading?.x ?? 0) - (before ?? 0)), 'pixels that the page moves').toBeLessThan(24)
})

test('on a phone the navigation is opened by its button and closes on navigation', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto('/models')
  await loaded(page)
  const link = page.getByText('API keys', { exact: true })
  await expect(link, 'hidden and not focusable').toBeHidden()
  await page.getByRole('button', { name: 'Open navigation' }).click()
  await expect(link).toBeInViewport()
  await link.click()
  await expect(page).toHaveURL(/\/keys$/)
  await expect(page.getByRole('navigation')).toHaveCount(0)
})

test('the keyboard can skip the navigation, and the theme is remembered', async ({ page, forebay }) => {
  await page.goto('/models')
  await loaded(page)
  await page.keyboard.press('Tab')
  const skip = page.getByRole('link', { name: 'Skip to content' })
  await expect(skip).toBeFocused()
  await skip.press('Enter')
  await expect(page.locator('#main')).toBeFocused()

  await page.getByRole('button', { name: `Account of ${forebay.email}` }).click()
  await page.getByRole('radiogroup', { name: 'Theme' }).getByText('Dark').click()
  const root = page.locator('html')
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'dark')
  await page.reload()
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'dark')
})

test('a lost connection is reported once, the shell stays, and a page opens when it is back', async ({
  page,
  expectProblem,
}) => {
  expectProblem(/ERR_CONNECTION_REFUSED|dynamically imported module|Unable to preload CSS/)
  expectProblem(/404.*\/assets\/CostsPage/)
  await page.goto('/models')
  await loaded(page)
  const open = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  const heading = (name: string) => page.getByRole('heading', { level: 1, name })
  await page.route('**/*', (route) => route.abort('connectionrefused'))
  await open('Members')
  const banner = page.getByRole('alert').filter({ hasText: /Connection lost at \d\d:\d\d, figures are not updated/ })
  await expect(banner).toBeVisible()
  await expectAccessible(page)
  await page.unroute('**/*')
  await banner.getByRole('button', { name: 'Try now' }).click()
  await expect(heading('Members')).toBeVisible()
  await expect(banner).toHaveCount(0)

  // After an upgrade the files of the build in this tab are gone.
  await page.route('**/assets/CostsPage*.js', (route) => route.fulfill({ status: 404 }), { times: 1 })
  await open('Costs')
  await expect(heading('Costs')).toBeVisible()
})

test('a page survives a gateway that is killed, and goes on when it runs again', SLOW, async ({ browser }) => {
  test.slow()
  const store = `sqlite:${join(mkdtempSync(join(tmpdir(), 'forebay-')), 'forebay.db')}`
  const first = await startForebay({ withModels: false, store })
  const context = await browser.newContext({ baseURL: first.url })
  const page = await context.newPage()
  await signInAs(page, first)
  await page.goto('/operator/users')
  await loaded(page)
  await first.kill()
  const banner = page.getByRole('alert').filter({ hasText: /^Connection lost at/ })
  await page.getByRole('navigation').getByRole('link', { name: 'Nodes and health' }).click()
  await expect(banner).toBeVisible()
  await expect(page.getByRole('navigation', { name: 'Console' })).toBeVisible()
  const port = Number(new URL(first.url).port)
  const second = await startForebay({ withModels: false, store, port, beside: first })
  await expect(banner).toHaveCount(0, { timeout: 60_000 })
  await expect(page.getByRole('heading', { level: 1, name: 'Nodes and health' })).toBeVisible()
  await expect(page.getByRole('table', { name: 'Nodes' })).toBeVisible()
  await context.close()
  await Promise.all([first.stop(), second.stop()])
})

test(
  'an upgrade to another build loads the page once, and what was typed stays until then',
  SLOW,
  async ({ browser }) => {
    test.slow()
    const store = `sqlite:${join(mkdtempSync(join(tmpdir(), 'forebay-')), 'forebay.db')}`
    const first = await startForebay({ withModels: false, store })
    const context = await browser.newContext({ baseURL: first.url })
    const page = await context.newPage()
    await signInAs(page, first)
    await page.goto('/settings')
    await loaded(page)
    const limit = page.getByRole('textbox', { name: 'Requests per minute' })
    await limit.fill('77')
    const documents: string[] = []
    page.on('request', (request) => request.isNavigationRequest() && documents.push(request.url()))

    await first.kill()
    await serveOtherBuild(page)
    const port = Number(new URL(first.url).port)
    const second = await startForebay({ withModels: false, store, port, beside: first })
    // A part of the shell whose file is gone: the page must not be loaded again, which would lose the form.
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('dialog', { name: 'Go to' })).toContainText('Load the page again')
    await expect(page.getByRole('alert').filter({ hasText: /^Connection lost at/ })).toHaveCount(0, { timeout: 60_000 })
    await expect(limit).toHaveValue('77')
    expect(documents).toEqual([])

    await page.keyboard.press('Escape')
    await page.getByRole('navigation').getByRole('link', { name: 'Nodes and health' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Nodes and health' })).toBeVisible({ timeout: 60_000 })
    await expect(page.getByRole('table', { name: 'Nodes' })).toBeVisible()
    await page.getByRole('navigation').getByRole('link', { name: 'Members' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Members' })).toBeVisible()
    expect(documents, 'loaded once').toHaveLength(1)
    await context.close()
    await Promise.all([first.stop(), second.stop()])
  },
)

test('Ctrl+K goes to any page by its name, and the guide is part of the console', async ({ page, forebay }) => {
  await page.goto('/models')
  await loaded(page)
  await page.keyboard.press('/')
  await expect(page.getByRole('searchbox')).toBeFocused()
  await page.keyboard.press('Control+k')
  const search = page.getByRole('combobox', { name: /^Search pages/ })
  await search.fill('smollm2')
  await expect(page.getByRole('option', { name: /smollm2-135m-instruct/ })).toBeVisible()
  await expectAccessible(page)
  // The server finds keys by the beginning of their secret, which their name does not have.
  await search.fill(forebay.apiKey.slice(0, 10))
  await expect(page.getByRole('option', { name: 'bootstrap' })).toBeVisible()
  await search.fill('guide')
  await search.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'Forebay' })).toBeVisible()
  await page.getByRole('navigation', { name: 'Guide' }).getByRole('link', { name: 'Usage and costs' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Usage and costs' })).toBeVisible()
})

test('an unknown path shows "Page not found"', async ({ page, expectProblem }) => {
  expectProblem(/404.*\/nowhere/)
  const response = await page.goto('/nowhere')
  expect(response?.status()).toBe(404)
  await expect(page.getByRole('heading', { level: 1, name: 'Page not found' })).toBeVisible()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectNoAxeFinding(page)
  }
})

test('scripts and styles are cached forever, the document is revalidated, and both are compressed', async ({
  page,
  forebay,
}) => {
  const document = await page.goto('/models')
  expect(document?.headers()).toMatchObject({ 'cache-control': 'no-cache', 'content-encoding': 'br' })
  expect(document?.headers()['content-security-policy']).toMatch(/script-src 'self';.*style-src-attr 'none';/)
  const script = await page.locator('script[type=module]').getAttribute('src')
  const asset = await page.request.get(`${forebay.url}${script}`, { headers: { 'accept-encoding': 'gzip' } })
  expect(asset.headers()).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-encoding': 'gzip',
  })
})

import type { Browser, Page } from '@playwright/test'
import { expect, expectAccessible, loaded, test } from './fixtures'
import { startWithProvider, type WithProvider } from './oidc'

/** Time for two servers to start. */
const START_MS = 120_000
let started: WithProvider

test.describe.configure({ mode: 'serial', timeout: 120_000 })
test.beforeAll(async () => {
  test.setTimeout(START_MS)
  started = await startWithProvider()
})
test.afterAll(() => started?.stop())

/** Opens the started forebay in a signed-out browser. */
async function visit(browser: Browser, path: string) {
  const context = await browser.newContext({ baseURL: started.forebay.url, storageState: undefined })
  // The provider's pages load a font from another host.
  await context.route(/fonts\.g/, (route) => route.abort())
  const page = await context.newPage()
  await page.goto(path)
  return page
}

/** Signs in at the provider, which accepts any password. */
async function signInAtProvider(page: Page, login: string) {
  await page.locator('input[name=login]').fill(login)
  await page.locator('input[name=password]').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('single sign-on leads to the provider and back to the requested page', async ({ browser }) => {
  const { forebay, provider } = started
  const page = await visit(browser, '/keys')
  const button = page.getByRole('link', { name: 'Continue with Acme login' })
  await expect(button).toBeVisible()
  await expect(page.getByLabel('Email')).toHaveCount(1)
  await expect(page.getByLabel('Password')).toHaveCount(1)
  await expectAccessible(page)

  await button.click()
  await expect(page).toHaveURL((url) => url.origin === provider)
  await signInAtProvider(page, 'bob')

  await expect(page).toHaveURL(`${forebay.url}/keys`)
  await loaded(page)
  await expect(page.getByRole('button', { name: 'Account of bob@example.com' })).toBeVisible()
  await page.context().close()
})

test('a user without an account sees an error and can sign in another way', async ({ browser }) => {
  const page = await visit(browser, '/sign-in')
  await page.getByRole('link', { name: 'Continue with Acme login' }).click()
  await signInAtProvider(page, 'ada')
  await expect(page).toHaveURL(/\/sign-in\?error=no_account$/)
  await expect(page.getByRole('alert')).toContainText('You do not have an account here')
  await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible()
  await page.context().close()
})

import type { Browser, Page } from '@playwright/test'
import { expect, expectAccessible, settled, test } from './fixtures'
import { startWithProvider, type WithProvider } from './oidc'

/** Two servers have to start. */
const START_MS = 120_000
let started: WithProvider

test.describe.configure({ mode: 'serial', timeout: 120_000 })
test.beforeAll(async () => {
  test.setTimeout(START_MS)
  started = await startWithProvider()
})
test.afterAll(() => started?.stop())

/** A browser of nobody's at the started forebay. */
async function visit(browser: Browser, path: string) {
  const context = await browser.newContext({ baseURL: started.forebay.url, storageState: undefined })
  // The provider's own pages would like a font from elsewhere.
  await context.route(/fonts\.g/, (route) => route.abort())
  const page = await context.newPage()
  await page.goto(path)
  return page
}

/** What the provider asks, whatever the password. */
async function answerProvider(page: Page, login: string) {
  await page.locator('input[name=login]').fill(login)
  await page.locator('input[name=password]').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('single sign-on leads to the provider, and back to the page that was asked for', async ({ browser }) => {
  const { forebay, provider } = started
  const page = await visit(browser, '/keys')
  const button = page.getByRole('link', { name: 'Continue with Acme login' })
  await expect(button).toBeVisible()
  await expect(page.getByLabel('Email')).toHaveCount(1)
  await expect(page.getByLabel('Password')).toHaveCount(1)
  await expectAccessible(page)

  await button.click()
  await expect(page).toHaveURL((url) => url.origin === provider)
  await answerProvider(page, 'bob')

  await expect(page).toHaveURL(`${forebay.url}/keys`)
  await settled(page)
  await expect(page.getByRole('button', { name: 'Account of bob@example.com' })).toBeVisible()
  await page.context().close()
})

test('whoever has no account here is told so, and can try another way', async ({ browser }) => {
  const page = await visit(browser, '/sign-in')
  await page.getByRole('link', { name: 'Continue with Acme login' }).click()
  await answerProvider(page, 'ada')
  await expect(page).toHaveURL(/\/sign-in\?error=no_account$/)
  await expect(page.getByRole('alert')).toContainText('There is no account for you here')
  await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible()
  await page.context().close()
})

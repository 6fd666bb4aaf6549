import { expect, loaded, test } from './fixtures'

const NAVIGATION = [
  ['Model Library', '/models'],
  ['Playground', '/playground'],
  ['API keys', '/keys'],
  ['Endpoints', '/endpoints'],
  ['Costs', '/costs'],
  ['Observability', '/observability'],
  ['Members', '/members'],
  ['Audit log', '/audit'],
  ['Settings', '/settings'],
] as const

test('the navigation leads to every page and marks the current one', async ({ page }) => {
  await page.goto('/')
  await expect(page).toHaveURL(/\/models$/)
  for (const [name, path] of NAVIGATION) {
    const link = page.getByRole('navigation').getByRole('link', { name, exact: true })
    await link.click()
    await expect(page).toHaveURL((url) => url.pathname === path)
    await expect(link).toHaveAttribute('aria-current', 'page')
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
    await expect(page).toHaveTitle(`${name} · Forebay`)
  }
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

test('the keyboard can skip the navigation', async ({ page }) => {
  await page.goto('/models')
  await loaded(page)
  await page.keyboard.press('Tab')
  const skip = page.getByRole('link', { name: 'Skip to content' })
  await expect(skip).toBeFocused()
  await skip.press('Enter')
  await expect(page.locator('#main')).toBeFocused()
})

test('the theme is chosen in the account menu and remembered', async ({ page, forebay }) => {
  await page.goto('/models')
  await page.getByRole('button', { name: `Account of ${forebay.email}` }).click()
  await page.getByRole('radiogroup', { name: 'Theme' }).getByText('Dark').click()
  const root = page.locator('html')
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'dark')
  await page.reload()
  await expect(root).toHaveAttribute('data-mantine-color-scheme', 'dark')
})

test('an unknown path shows "Page not found"', async ({ page, expectProblem }) => {
  expectProblem(/404.*\/nowhere/)
  const response = await page.goto('/nowhere')
  expect(response?.status()).toBe(404)
  await expect(page.getByRole('heading', { level: 1, name: 'Page not found' })).toBeVisible()
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

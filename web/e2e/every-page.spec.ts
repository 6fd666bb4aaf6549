import { expect, expectAccessible, loaded, test } from './fixtures'
import { PAGES, SIGNED_OUT_PAGES } from './pages'

const PHONE = { width: 390, height: 844 }
const WIDE = { width: 1920, height: 1080 }

for (const { name, path, title } of PAGES) {
  test(`${name} has one h1 and no serious axe finding, in light and dark`, async ({ page }) => {
    if (name.startsWith('operator')) await page.setViewportSize(WIDE)
    await page.goto(path)
    await loaded(page)
    await expect(page.getByRole('heading', { level: 1, name: title })).toHaveCount(1)
    await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
    await expectAccessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'dark')
    await expectAccessible(page)
  })

  test(`${name} fits a phone`, async ({ page }) => {
    await page.setViewportSize(PHONE)
    await page.goto(path)
    await loaded(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', colorScheme)
      await expectAccessible(page)
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(overflow, 'horizontal overflow in pixels').toBeLessThanOrEqual(0)
  })
}

for (const { name, path, title } of SIGNED_OUT_PAGES) {
  test(`${name} has one h1 and no serious axe finding, in light and dark`, async ({ signedOut }) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await signedOut.emulateMedia({ colorScheme })
      await signedOut.goto(path)
      await loaded(signedOut)
      await expect(signedOut.getByRole('heading', { level: 1, name: title })).toHaveCount(1)
      await expectAccessible(signedOut)
    }
  })
}

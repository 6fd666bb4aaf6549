import { expect, expectAccessible, settled, test } from './fixtures'
import { OUTSIDE, PAGES } from './pages'

const PHONE = { width: 390, height: 844 }

for (const { name, path, title } of PAGES) {
  test(`${name} has one h1 and nothing that axe finds serious, in light and dark`, async ({ page }) => {
    await page.goto(path)
    await settled(page)
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
    await settled(page)
    await expectAccessible(page)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(overflow, 'how far the page scrolls sideways').toBeLessThanOrEqual(0)
  })
}

for (const { name, path, title } of OUTSIDE) {
  test(`${name} has one h1 and nothing that axe finds serious, in light and dark`, async ({ stranger }) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await stranger.emulateMedia({ colorScheme })
      await stranger.goto(path)
      await settled(stranger)
      await expect(stranger.getByRole('heading', { level: 1, name: title })).toHaveCount(1)
      await expectAccessible(stranger)
    }
  })
}

/** `make screenshots`: every page, light and dark, on a phone and on a wide screen, into `web/screenshots/`. */

import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { settled, test } from './fixtures'
import { OUTSIDE, PAGES } from './pages'

const FOLDER = fileURLToPath(new URL('../screenshots/', import.meta.url))
const SIZES = { phone: { width: 390, height: 844 }, wide: { width: 1920, height: 1080 } } as const

async function shoot(page: Page, name: string, path: string) {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport)
      await page.goto(path)
      await settled(page)
      await page.evaluate(() => document.fonts.ready)
      await page.screenshot({ path: `${FOLDER}${name}-${size}-${colorScheme}.png`, animations: 'disabled' })
    }
  }
}

for (const { name, path } of PAGES) test(`picture of ${name}`, ({ page }) => shoot(page, name, path))
for (const { name, path } of OUTSIDE) test(`picture of ${name}`, ({ stranger }) => shoot(stranger, name, path))

test('picture of the navigation on a phone', async ({ page }) => {
  await page.setViewportSize(SIZES.phone)
  await page.goto('/models')
  await settled(page)
  await page.getByRole('button', { name: 'Open navigation' }).click()
  await page.screenshot({ path: `${FOLDER}navigation-phone-light.png`, animations: 'disabled' })
})

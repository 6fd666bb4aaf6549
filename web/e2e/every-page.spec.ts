/**
 * Claims about every page. In the short run a page is opened once, and axe checks it in the light theme; the long run
 * (`npm run e2e:slow`) adds the dark theme and the phone.
 */

import type { Page } from '@playwright/test'
import { expect, expectNoAxeFinding, IS_SLOW, loaded, test } from './fixtures'
import { PAGES, SIGNED_OUT_PAGES } from './pages'

const PHONE = { width: 390, height: 844 }
const DESKTOP = { width: 1280, height: 900 }
const WIDE = { width: 1920, height: 1080 }
const OBSERVED_MS = 20_000
const FASTEST_POLL_MS = 2_000

const sizeOf = (name: string) => (name.startsWith('operator') ? WIDE : DESKTOP)

for (const { name, path, title } of PAGES) {
  test(`${name} has one h1 and no serious axe finding, fits a phone, and polls at most every 2 s`, async ({ page }) => {
    const observed = await observeRequests(page)
    await page.setViewportSize(sizeOf(name))
    await page.goto(path)
    await loaded(page)
    await expect(page.getByRole('heading', { level: 1, name: title })).toHaveCount(1)
    await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
    await expectNoAxeFinding(page)
    await expectToFitPhone(page)
    await page.setViewportSize(sizeOf(name))
    await observed.expectFewRequests()
  })

  if (IS_SLOW) {
    test(`${name} has no serious axe finding in the dark and on a phone`, async ({ page }) => {
      await page.setViewportSize(sizeOf(name))
      await page.goto(path)
      await loaded(page)
      await choose(page, 'dark')
      await expectNoAxeFinding(page)
      await page.setViewportSize(PHONE)
      await page.reload()
      await loaded(page)
      await expectNoAxeFinding(page)
      await choose(page, 'light')
      await expectNoAxeFinding(page)
      await expectToFitPhone(page)
    })
  }
}

for (const { name, path, title } of SIGNED_OUT_PAGES) {
  test(`${name} has one h1 and no serious axe finding`, async ({ signedOut }) => {
    for (const colorScheme of IS_SLOW ? (['light', 'dark'] as const) : (['light'] as const)) {
      await signedOut.emulateMedia({ colorScheme })
      await signedOut.goto(path)
      await loaded(signedOut)
      await expect(signedOut.getByRole('heading', { level: 1, name: title })).toHaveCount(1)
      await expectNoAxeFinding(signedOut)
    }
  })
}

async function choose(page: Page, colorScheme: 'light' | 'dark') {
  await page.emulateMedia({ colorScheme })
  await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', colorScheme)
}

async function expectToFitPhone(page: Page) {
  await page.setViewportSize(PHONE)
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  await expect.poll(overflow, 'horizontal overflow in pixels').toBeLessThanOrEqual(0)
}

/** To be called before the page is opened. */
async function observeRequests(page: Page) {
  await page.clock.install()
  const open = new Set<string>()
  page.on('request', (request) => open.add(request.url()))
  page.on('requestfinished', (request) => open.delete(request.url()))
  page.on('requestfailed', (request) => open.delete(request.url()))
  const streams: string[] = []
  page.on('websocket', (socket) => streams.push(socket.url()))
  const expectFewRequests = async () => {
    await page.waitForLoadState('networkidle')
    await page.clock.pauseAt(Date.now() + OBSERVED_MS)
    const requests = new Map<string, number>()
    page.on('request', (request) => {
      if (request.resourceType() === 'eventsource') streams.push(request.url())
      const path = withoutFrom(request.url())
      requests.set(path, (requests.get(path) ?? 0) + 1)
    })
    await page.clock.runFor(OBSERVED_MS)
    const tooOften = [...requests].filter(([, times]) => times > OBSERVED_MS / FASTEST_POLL_MS)
    expect(tooOften, 'requests of an idle page').toEqual([])
    await expect.poll(() => [...open], 'requests in progress').toEqual([])
    expect(streams).toEqual([])
  }
  return { expectFewRequests }
}

/** The URL without `from`, which moves for ranges that end now. */
function withoutFrom(text: string): string {
  const url = new URL(text)
  url.searchParams.delete('from')
  return url.pathname + url.search
}

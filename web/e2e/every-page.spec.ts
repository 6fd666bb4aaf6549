/**
 * Claims about every page. In the short run a page is opened once, and axe checks it in the light theme; the long run
 * (`npm run e2e:slow`) adds the dark theme and the phone.
 */

import type { Page } from '@playwright/test'
import { expect, expectNoAxeFinding, follow, IS_SLOW, loaded, SLOW, test } from './fixtures'
import { type ListedPage, PAGES, recordPages, SIGNED_OUT_PAGES } from './pages'

const PHONE = { width: 390, height: 844 }
const DESKTOP = { width: 1280, height: 900 }
const WIDE = { width: 1920, height: 1080 }
const OBSERVED_MS = 20_000
const FASTEST_POLL_MS = 2_000
/** Each opens every third page, so that the title changes from page to page. */
const TOURS = [0, 1, 2]

const sizeOf = (name: string) => (name.startsWith('operator') ? WIDE : DESKTOP)

for (const tour of TOURS) {
  const pages = PAGES.filter((_, index) => index % TOURS.length === tour)
  const names = pages.map(({ name }) => name).join(', ')
  test(`pages have one h1 and no serious axe finding, fit desktop and phone, and poll at most every 2 s: ${names}`, async ({
    page,
  }) => {
    test.setTimeout(300_000) // many pages in one test
    await expectSound(page, pages)
  })
}

test('pages of a key, a batch, an endpoint and an organization have one h1 and no serious axe finding, fit, and poll rarely', async ({
  page,
  forebay,
}) => {
  test.setTimeout(300_000)
  await expectSound(page, await recordPages(page.request, forebay))
})

for (const listed of IS_SLOW ? PAGES : []) {
  test(`${listed.name} has no serious axe finding in the dark and on a phone`, async ({ page }) => {
    await expectSoundInTheDark(page, listed)
  })
}

test('pages of records have no serious axe finding in the dark and on a phone', SLOW, async ({ page, forebay }) => {
  test.setTimeout(300_000) // many pages in one test
  for (const listed of await recordPages(page.request, forebay))
    await test.step(listed.name, () => expectSoundInTheDark(page, listed))
})

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

async function expectSound(page: Page, pages: readonly ListedPage[]) {
  const { expectFewRequests } = await observeRequests(page)
  await page.goto('/')
  await loaded(page)
  for (const { name, path, title } of pages) {
    await test.step(name, async () => {
      await page.setViewportSize(sizeOf(name))
      await follow(page, path)
      await expect(page.getByRole('heading', { level: 1, name: title })).toHaveCount(1)
      await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1)
      await expectNoAxeFinding(page)
      await expectToFit(page)
      await page.setViewportSize(PHONE)
      await expectToFit(page)
      await page.setViewportSize(sizeOf(name))
      await expectFewRequests()
    })
  }
}

async function expectSoundInTheDark(page: Page, { name, path }: Pick<ListedPage, 'name' | 'path'>) {
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
  await expectToFit(page)
}

async function choose(page: Page, colorScheme: 'light' | 'dark') {
  await page.emulateMedia({ colorScheme })
  await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', colorScheme)
}

async function expectToFit(page: Page) {
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  await expect.poll(overflow, 'horizontal overflow in pixels').toBeLessThanOrEqual(0)
}

/** To be called before the first page is opened. */
async function observeRequests(page: Page) {
  await page.clock.install()
  const open = new Set<string>()
  const requests = new Map<string, number>()
  const streams: string[] = []
  page.on('request', (request) => {
    open.add(request.url())
    if (request.resourceType() === 'eventsource') streams.push(request.url())
    const path = withoutFrom(request.url())
    requests.set(path, (requests.get(path) ?? 0) + 1)
  })
  page.on('requestfinished', (request) => open.delete(request.url()))
  page.on('requestfailed', (request) => open.delete(request.url()))
  page.on('websocket', (socket) => streams.push(socket.url()))
  const expectNoneOpen = () => expect.poll(() => [...open], 'requests in progress').toEqual([])
  const expectFewRequests = async () => {
    await expectNoneOpen()
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + OBSERVED_MS)
    requests.clear()
    await page.clock.runFor(OBSERVED_MS)
    const tooOften = [...requests].filter(([, times]) => times > OBSERVED_MS / FASTEST_POLL_MS)
    expect(tooOften, 'requests of an idle page').toEqual([])
    await expectNoneOpen()
    expect(streams).toEqual([])
    await page.clock.resume()
  }
  return { expectFewRequests }
}

/** The URL without `from`, which moves for ranges that end now. */
function withoutFrom(text: string): string {
  const url = new URL(text)
  url.searchParams.delete('from')
  return url.pathname + url.search
}

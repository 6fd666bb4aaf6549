import { expect, loaded, test } from './fixtures'
import { PAGES } from './pages'

const OBSERVED_MS = 20_000
const FASTEST_POLL_MS = 2_000

/** The URL without `from`, which moves for ranges that end now. */
function withoutFrom(text: string): string {
  const url = new URL(text)
  url.searchParams.delete('from')
  return url.pathname + url.search
}

for (const { name, path: pagePath } of PAGES) {
  test(`${name} polls at most every 2 s while idle, and keeps no stream open`, async ({ page }) => {
    await page.clock.install()
    const open = new Set<string>()
    page.on('request', (request) => open.add(request.url()))
    page.on('requestfinished', (request) => open.delete(request.url()))
    page.on('requestfailed', (request) => open.delete(request.url()))
    const streams: string[] = []
    page.on('websocket', (socket) => streams.push(socket.url()))
    await page.goto(pagePath)
    await loaded(page)
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
    expect(tooOften).toEqual([])
    await expect.poll(() => [...open], 'requests in progress').toEqual([])
    expect(streams).toEqual([])
  })
}

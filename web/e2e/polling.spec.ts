import { expect, settled, test } from './fixtures'
import { PAGES } from './pages'

const WATCHED_MS = 20_000
const FASTEST_POLL_MS = 2_000

/** The question, whenever it is asked: spans that end now move. */
function questionOf(text: string): string {
  const url = new URL(text)
  url.searchParams.delete('from')
  return url.pathname + url.search
}

for (const { name, path } of PAGES) {
  test(`${name} asks at most every 2 s while nothing happens, and keeps no stream open`, async ({ page }) => {
    await page.clock.install()
    const open = new Set<string>()
    page.on('request', (request) => open.add(request.url()))
    page.on('requestfinished', (request) => open.delete(request.url()))
    page.on('requestfailed', (request) => open.delete(request.url()))
    const streams: string[] = []
    page.on('websocket', (socket) => streams.push(socket.url()))
    await page.goto(path)
    await settled(page)
    await page.waitForLoadState('networkidle')
    await page.clock.pauseAt(Date.now() + WATCHED_MS)

    const asked = new Map<string, number>()
    page.on('request', (request) => {
      if (request.resourceType() === 'eventsource') streams.push(request.url())
      const question = questionOf(request.url())
      asked.set(question, (asked.get(question) ?? 0) + 1)
    })
    await page.clock.runFor(WATCHED_MS)
    const tooOften = [...asked].filter(([, times]) => times > WATCHED_MS / FASTEST_POLL_MS)
    expect(tooOften).toEqual([])
    await expect.poll(() => [...open], 'what is under way').toEqual([])
    expect(streams).toEqual([])
  })
}

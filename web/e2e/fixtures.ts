/**
 * Shared fixtures. `page` is signed in as the administrator; `signedOut` is not. Every test fails if the browser logs an
 * error or sends a request to another host.
 */

import AxeBuilder from '@axe-core/playwright'
import { type Browser, test as base, expect, type Page, request } from '@playwright/test'
import type { Bootstrap } from './forebay'

export type UnderTest = Bootstrap & { url: string }
type Watched = { problems: string[]; expected: RegExp[] }

/** Whether this is the long run: `npm run e2e:slow`. */
export const IS_SLOW = !!process.env.FOREBAY_TEST_SLOW
/** Tests of the long run only: conflicts, empty installations, and what waits long. */
export const SLOW = { tag: '@slow' }

/** The forebay server started by `global-setup.ts`. */
export const forebay = (): UnderTest => JSON.parse(process.env.FOREBAY_UNDER_TEST ?? 'null')

type Fixtures = {
  forebay: UnderTest
  signedOut: Page
  /** Declares a browser error that the test causes on purpose. */
  expectProblem: (pattern: RegExp) => void
  watched: Watched
}

export const test = base.extend<Fixtures, { session: Awaited<ReturnType<typeof signIn>> }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from this pattern.
  forebay: async ({}, use) => use(forebay()),
  baseURL: async ({ forebay }, use) => use(forebay.url),
  // biome-ignore lint/correctness/noEmptyPattern: as above.
  session: [async ({}, use) => use(await signIn(forebay())), { scope: 'worker' }],
  storageState: async ({ session }, use) => use(session),
  // biome-ignore lint/correctness/noEmptyPattern: as above.
  watched: async ({}, use) => {
    const watched: Watched = { problems: [], expected: [] }
    await use(watched)
    const unexpected = watched.problems.filter((problem) => !watched.expected.some((pattern) => pattern.test(problem)))
    expect(unexpected, 'unexpected browser errors').toEqual([])
  },
  expectProblem: async ({ watched }, use) => use((pattern) => watched.expected.push(pattern)),
  page: async ({ page, watched, forebay }, use) => {
    watch(page, watched, forebay.url)
    await use(page)
  },
  signedOut: async ({ browser, watched, forebay }, use) => {
    const context = await openContext(browser, forebay.url)
    const page = await context.newPage()
    watch(page, watched, forebay.url)
    await use(page)
    await context.close()
  },
})

const openContext = (browser: Browser, baseURL: string) => browser.newContext({ baseURL, storageState: undefined })

/** Signs in through the API and returns the cookie. */
async function signIn({ url, email, password }: UnderTest) {
  const api = await request.newContext({ baseURL: url })
  const response = await api.post('/api/session', { data: { email, password } })
  expect(response.status()).toBe(200)
  const state = await api.storageState()
  await api.dispose()
  return state
}

function watch(page: Page, { problems }: Watched, url: string) {
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      problems.push(`${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`))
  page.on('request', (request) => {
    const target = new URL(request.url())
    if (target.protocol !== 'data:' && target.protocol !== 'blob:' && target.origin !== url)
      problems.push(`request to ${request.url()}`)
  })
}

/** Checks a state of a page in the long run; `every-page.spec.ts` checks each page in both. */
export async function expectAccessible(page: Page) {
  if (IS_SLOW) await expectNoAxeFinding(page)
}

/**
 * Fails on serious or critical axe findings. Legacy mode skips only what frames of other origins need (a second page that
 * collects their results); the console has no frames.
 */
export async function expectNoAxeFinding(page: Page) {
  await expect(page.locator('iframe')).toHaveCount(0)
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode(true)
    .options({ resultTypes: ['violations'] })
    .analyze()
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => ({
      id,
      help,
      where: nodes.map((node) => `${node.target.join(' ')}: ${node.failureSummary}`),
    }))
  expect(serious).toEqual([])
}

/** Signs in without the form, which has its own test, and without a page. */
export async function signInAs(page: Page, { email, password }: Pick<Bootstrap, 'email' | 'password'>) {
  const response = await page.request.post('/api/session', { data: { email, password } })
  expect(response.status()).toBe(200)
}

type Router = { subscribe: (event: 'onRendered', rendered: () => void) => () => void }

/** Opens a page as a link does, without loading the application again, which takes most of the time. */
export async function follow(page: Page, path: string) {
  await page.evaluate(
    (to) =>
      new Promise<void>((followed) => {
        const { __TSR_ROUTER__: router } = window as unknown as { __TSR_ROUTER__: Router }
        const unsubscribe = router.subscribe('onRendered', () => {
          unsubscribe()
          followed()
        })
        history.pushState(null, '', to)
      }),
    path,
  )
  await loaded(page)
}

/** Waits until the page has loaded: its h1 is visible and nothing is pending. */
export async function loaded(page: Page) {
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(page.getByRole('status', { name: 'Loading' })).toHaveCount(0)
}

export { expect }

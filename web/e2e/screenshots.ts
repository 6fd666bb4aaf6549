/** `make screenshots`: every page and state in light and dark, on a phone and a wide screen, into `web/screenshots/`. */

import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { mutate } from './api'
import { expect, loaded, test, type UnderTest } from './fixtures'
import { startWithProvider } from './oidc'
import { callTool, PAGE_STATES, SIGNED_OUT_STATES, sendMessage } from './page-states'
import { PAGES, SIGNED_OUT_PAGES } from './pages'

const FOLDER = fileURLToPath(new URL('../screenshots/', import.meta.url))
const SIZES = { phone: { width: 390, height: 844 }, wide: { width: 1920, height: 1080 } } as const

/** Pages of the endpoints created by `sample-data.ts`. */
const MORE_PAGES = [
  { name: 'endpoint', path: '/endpoints/chat-prod' },
  { name: 'endpoint-metrics', path: '/endpoints/chat-prod?tab=metrics' },
  { name: 'endpoint-events', path: '/endpoints/chat-prod?tab=events' },
  { name: 'endpoint-replicas', path: '/endpoints/chat-prod?tab=replicas' },
  { name: 'endpoint-suspended', path: '/endpoints/chat-staging' },
  { name: 'not-found', path: '/nowhere' },
]
/** Pages shown for a workspace without any data. */
const EMPTY = ['/keys', '/endpoints', '/costs', '/observability', '/observability?tab=requests']

type Shot = { name: string; path: string; take?: (page: Page) => Promise<void>; isWhole?: boolean }

async function shoot(page: Page, { name, path, take, isWhole = !take }: Shot) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await page.goto(path)
    await loaded(page)
    await take?.(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.evaluate(() => document.fonts.ready)
      // Charts load after the rest of the page.
      await page.waitForLoadState('networkidle')
      const file = `${FOLDER}${name}-${size}-${colorScheme}.png`
      await page.screenshot({ path: file, animations: 'disabled', fullPage: isWhole })
    }
  }
}

// Some states contain errors on purpose.
test.beforeEach(({ expectProblem }) => expectProblem(/status of 4\d\d/))

for (const page of [...PAGES, ...MORE_PAGES]) test(`screenshot of ${page.name}`, ({ page: at }) => shoot(at, page))
for (const page of SIGNED_OUT_PAGES) test(`screenshot of ${page.name}`, ({ signedOut }) => shoot(signedOut, page))
for (const pose of PAGE_STATES) test(`screenshot of ${pose.name}`, ({ page }) => shoot(page, pose))
for (const pose of SIGNED_OUT_STATES) test(`screenshot of ${pose.name}`, ({ signedOut }) => shoot(signedOut, pose))

/** Pages of single records of `sample-data.ts`, whose ids differ from run to run. */
async function recordPaths(page: Page, { workspaceId, organizationId }: UnderTest) {
  const { data } = await (await page.request.get(`/api/workspaces/${workspaceId}/keys?search=chat-application`)).json()
  const batches = await (await page.request.get('/v1/batches')).json()
  return {
    key: `/keys/${data[0].id}`,
    batch: `/batches/${batches.data[0].id}`,
    organization: `/operator/organizations/${organizationId}`,
  }
}

test('screenshots of a key, a batch and an organization', async ({ page, forebay }) => {
  const records = await recordPaths(page, forebay)
  await shoot(page, { name: 'key', path: records.key })
  await shoot(page, { name: 'batch', path: records.batch })
  await shoot(page, { name: 'operator-organization', path: records.organization })
})

type Records = Awaited<ReturnType<typeof recordPaths>>
type Picture = { path: string | keyof Records; colorScheme?: 'light' | 'dark'; take?: (page: Page) => Promise<void> }

const QUESTION = 'Name three rivers of Europe, and one thing each is known for.'

/** Pictures of the README and the guide: `docs-<name>.png` becomes `docs/images/<name>.png`. */
const PICTURES: Record<string, Picture> = {
  'model-library': { path: '/models' },
  endpoint: { path: '/endpoints/chat-prod', colorScheme: 'dark' },
  'endpoint-metrics': { path: '/endpoints/chat-prod?tab=metrics' },
  playground: { path: '/playground', take: (page) => sendMessage(page, QUESTION, 1) },
  'playground-tools': { path: '/playground', take: callTool },
  key: { path: 'key' },
  batch: { path: 'batch' },
  'end-users': {
    path: '/costs',
    take: (page) =>
      page.getByRole('region', { name: 'By label' }).evaluate((panel) => panel.scrollIntoView({ block: 'start' })),
  },
  workspaces: { path: '/settings?tab=workspaces' },
  'request-log': { path: '/observability?tab=requests' },
  operator: { path: '/operator/health', colorScheme: 'dark' },
  'operator-home': { path: '/operator' },
  organization: { path: 'organization' },
  'add-model': { path: '/operator/models/new' },
  help: { path: '/help/costs' },
  'api-reference': { path: '/help/api/reference' },
}

for (const [name, { path, colorScheme = 'light', take }] of Object.entries(PICTURES)) {
  test(`picture of ${name} for the README and the guide`, async ({ page, forebay }) => {
    const records = await recordPaths(page, forebay)
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.goto(path.startsWith('/') ? path : records[path as keyof Records])
    await loaded(page)
    // Charts load after the rest of the page.
    await page.waitForLoadState('networkidle')
    await take?.(page)
    await page.waitForLoadState('networkidle')
    await page.screenshot({ path: `${FOLDER}docs-${name}.png`, animations: 'disabled' })
  })
}

test('screenshot of an invitation', async ({ page, signedOut, forebay }) => {
  const path = `/api/organizations/${forebay.organizationId}/invitations`
  const email = `mary-${Date.now()}@example.com`
  const body = { email, role: 'member', workspaceIds: [forebay.workspaceId] }
  const { url, id } = await mutate(page.request, 'POST', path, body)
  await shoot(signedOut, { name: 'invitation', path: new URL(url).pathname + new URL(url).hash })
  await mutate(page.request, 'DELETE', `${path}/${id}`)
})

test('screenshots of an empty workspace', async ({ signedOut, forebay }) => {
  const { email, password } = forebay
  expect((await signedOut.request.post('/api/session', { data: { email, password } })).status()).toBe(200)
  const { workspaces } = await (await signedOut.request.get('/api/session')).json()
  const research = workspaces.find((one: { name: string }) => one.name === 'Research')
  const context = { organizationId: forebay.organizationId, workspaceId: research.id }
  await mutate(signedOut.request, 'PUT', '/api/session/context', context)
  for (const path of EMPTY) await shoot(signedOut, { name: `empty${path.replace(/\W+/g, '-')}`, path })
})

test('screenshot of single sign-on', async ({ browser }) => {
  const { forebay, stop } = await startWithProvider()
  try {
    const page = await browser.newPage({ baseURL: forebay.url, storageState: undefined })
    await shoot(page, { name: 'sign-in-oidc', path: '/sign-in' })
  } finally {
    await stop()
  }
})

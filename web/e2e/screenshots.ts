/** `make screenshots`: every page and state, light and dark, on a phone and on a wide screen, into `web/screenshots/`. */

import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { change } from './api'
import { expect, settled, test } from './fixtures'
import { startWithProvider } from './oidc'
import { OUTSIDE, PAGES } from './pages'
import { ask, POSES, POSES_OF_STRANGERS } from './poses'

const FOLDER = fileURLToPath(new URL('../screenshots/', import.meta.url))
const SIZES = { phone: { width: 390, height: 844 }, wide: { width: 1920, height: 1080 } } as const

/** Pages of the endpoint that `scenery.ts` made, and what there is in a workspace where nothing has happened yet. */
const MORE_PAGES = [
  { name: 'endpoint', path: '/endpoints/chat-prod' },
  { name: 'endpoint-metrics', path: '/endpoints/chat-prod?tab=metrics' },
  { name: 'endpoint-events', path: '/endpoints/chat-prod?tab=events' },
  { name: 'endpoint-replicas', path: '/endpoints/chat-prod?tab=replicas' },
  { name: 'endpoint-suspended', path: '/endpoints/chat-staging' },
  { name: 'not-found', path: '/nowhere' },
]
const EMPTY = ['/keys', '/endpoints', '/costs', '/observability', '/observability?tab=requests']

type Shot = { name: string; path: string; take?: (page: Page) => Promise<void>; isWhole?: boolean }

async function shoot(page: Page, { name, path, take, isWhole = !take }: Shot) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await page.goto(path)
    await settled(page)
    await take?.(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.evaluate(() => document.fonts.ready)
      // Charts and their code come after the page's figures.
      await page.waitForLoadState('networkidle')
      const file = `${FOLDER}${name}-${size}-${colorScheme}.png`
      await page.screenshot({ path: file, animations: 'disabled', fullPage: isWhole })
    }
  }
}

// What a state is made of may be refused on purpose.
test.beforeEach(({ expectProblem }) => expectProblem(/status of 4\d\d/))

for (const page of [...PAGES, ...MORE_PAGES]) test(`picture of ${page.name}`, ({ page: at }) => shoot(at, page))
for (const page of OUTSIDE) test(`picture of ${page.name}`, ({ stranger }) => shoot(stranger, page))
for (const pose of POSES) test(`picture of ${pose.name}`, ({ page }) => shoot(page, pose))
for (const pose of POSES_OF_STRANGERS) test(`picture of ${pose.name}`, ({ stranger }) => shoot(stranger, pose))

/** What docs/images has, for the README. */
test('pictures for the README', async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 800 })
  const shots = [
    ['model-library', '/models', 'light'],
    ['endpoint', '/endpoints/chat-prod', 'dark'],
    ['playground', '/playground', 'light'],
  ] as const
  for (const [name, path, colorScheme] of shots) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.goto(path)
    await settled(page)
    if (name === 'playground') await ask(page, 'Name three rivers of Europe, and one thing each is known for.', 1)
    await page.screenshot({ path: `${FOLDER}readme-${name}.png`, animations: 'disabled' })
  }
})

test('picture of an invitation', async ({ page, stranger, forebay }) => {
  const place = `/api/organizations/${forebay.organizationId}/invitations`
  const body = { email: `mary-${Date.now()}@example.com`, role: 'member' }
  const { url, id } = await change(page.request, 'POST', place, body)
  await shoot(stranger, { name: 'invitation', path: new URL(url).pathname + new URL(url).hash })
  await change(page.request, 'DELETE', `${place}/${id}`)
})

test('pictures of a workspace where nothing has happened yet', async ({ stranger, forebay }) => {
  const { email, password } = forebay
  expect((await stranger.request.post('/api/session', { data: { email, password } })).status()).toBe(200)
  const { workspaces } = await (await stranger.request.get('/api/session')).json()
  const research = workspaces.find((one: { name: string }) => one.name === 'Research')
  const context = { organizationId: forebay.organizationId, workspaceId: research.id }
  await change(stranger.request, 'PUT', '/api/session/context', context)
  for (const path of EMPTY) await shoot(stranger, { name: `empty${path.replace(/\W+/g, '-')}`, path })
})

test('picture of single sign-on', async ({ browser }) => {
  const { forebay, stop } = await startWithProvider()
  try {
    const page = await browser.newPage({ baseURL: forebay.url, storageState: undefined })
    await shoot(page, { name: 'sign-in-oidc', path: '/sign-in' })
  } finally {
    await stop()
  }
})

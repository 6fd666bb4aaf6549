/** Lists of an installation with 10,000 keys, 1,000 models and 1,000 organizations: what is asked for, and what is drawn. */

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as base, type Page } from '@playwright/test'
import { expect, follow, loaded, SLOW, signInAs } from './fixtures'
import { type Forebay, PROGRAM, startForebay } from './forebay'

const KEYS = 10_000
const MODELS = 1_000
const ORGANIZATIONS = 1_000
const PAGE = 50
const CARDS = 20
/** The shell, and fifty rows of a wide table. */
const MAX_ELEMENTS = 4_000

const model = (number: number) => `
[[models]]
id = "acme/model-${number}"
[[models.flavors]]
name = "cpu-1x"
gpu_type = "local/cpu"
weights = "/srv/none.gguf"
`

/** Writes rows beside the gateway: ten thousand calls would take minutes. */
function fill({ config, dataDir, workspaceId }: Forebay) {
  const models = join(dataDir, 'models.toml')
  writeFileSync(models, Array.from({ length: MODELS }, (_, number) => model(number)).join(''))
  execFileSync(PROGRAM, ['admin', '--config', config, '--data-dir', dataDir, 'models', 'import', models])
  execFileSync('python3', ['-c', ROWS, join(dataDir, 'forebay.db'), workspaceId])
}

const ROWS = `
import sqlite3, sys
database, workspace = sys.argv[1:]
rows = sqlite3.connect(database, timeout=30)
def fill(count, table, columns, values):
    rows.executemany(f"INSERT INTO {table} ({columns}) VALUES ({values})", ((number,) for number in range(1, count + 1)))
fill(${ORGANIZATIONS}, "organizations", "id, name, created_at", "printf('org_%026d', ?1), printf('Tenant %d', ?1), ?1")
fill(${KEYS}, "api_keys", "id, workspace_id, name, created_at",
     f"printf('key_%026d', ?1), '{workspace}', printf('program %d', ?1), ?1")
fill(${KEYS}, "api_key_secrets", "segment, key_id, hash, created_at",
     "printf('%012d', ?1), printf('key_%026d', ?1), printf('%064d', 0), ?1")
rows.commit()
`

const test = base.extend<object, { filled: Forebay }>({
  filled: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from this pattern.
    async ({}, use) => {
      const forebay = await startForebay({ withModels: false })
      fill(forebay)
      await use(forebay)
      await forebay.stop()
    },
    { scope: 'worker', timeout: 120_000 },
  ],
  baseURL: async ({ filled }, use) => use(filled.url),
})

test.beforeEach(({ page, filled }) => signInAs(page, filled))

/** Opens a page, and returns the requests for one list that it makes until its first rows are there. */
async function open(page: Page, path: string, list: string): Promise<string[]> {
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    if (pathname.endsWith(list)) asked.push(search)
  })
  await page.goto(path)
  await loaded(page)
  return asked
}

/** Rows without the head of the table. */
const rows = (page: Page, table: string) => page.getByRole('table', { name: table }).getByRole('rowheader')
const elements = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length)

type Listed = { path: string; list: string; table: string; all: number; search: string; one: string }

for (const { path, list, table, all, search, one } of [
  { path: '/keys', list: '/keys', table: 'API keys', all: KEYS + 1, search: 'Search keys', one: 'program 9876' },
  {
    path: '/operator/organizations',
    list: '/api/operator/organizations',
    table: 'Organizations',
    all: ORGANIZATIONS + 1,
    search: 'Search organizations',
    one: 'tenant 987',
  },
  {
    path: '/operator/models',
    list: '/api/operator/models',
    table: 'Models',
    all: MODELS,
    search: 'Search models',
    one: 'acme/model-987',
  },
] satisfies Listed[]) {
  test(`${path} shows its first page of ${all} rows, and finds one`, SLOW, async ({ page }) => {
    const reports: string[] = []
    page.on('request', (request) => new URL(request.url()).pathname.endsWith('/usage') && reports.push(request.url()))
    const asked = await open(page, path, list)
    await expect(rows(page, table)).toHaveCount(PAGE)
    await expect(page.getByText(`${PAGE} of ${all.toLocaleString('en-GB')}`)).toBeVisible()
    expect(asked.filter((query) => query.includes(`limit=${PAGE}`)).length).toBe(1)
    expect(asked.filter((query) => query.includes('limit=500'))).toEqual([])
    expect(reports, 'what rows used comes with them').toEqual([])
    expect(await elements(page)).toBeLessThan(MAX_ELEMENTS)

    await page.getByRole('button', { name: 'Show more' }).click()
    await expect(rows(page, table)).toHaveCount(2 * PAGE)
    await page.getByRole('searchbox', { name: search }).fill(one)
    await expect(rows(page, table)).toHaveCount(1)
    await expect(rows(page, table)).toContainText(one, { ignoreCase: true })
  })
}

/**
 * CPU time of the renderer's main thread, in milliseconds, without the time in which it waits for a core; printed only,
 * because it depends on the machine.
 */
async function printCpuTime(page: Page, what: string, act: () => Promise<unknown>) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const taken = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1_000 * (metrics.find(({ name }) => name === 'ThreadTime')?.value ?? 0)
  }
  const before = await taken()
  await act()
  process.stdout.write(`${what}: ${Math.round((await taken()) - before)} ms of renderer CPU\n`)
  await session.detach()
}

test('the Model Library draws the first of a thousand models, after one request', SLOW, async ({ page }) => {
  const cards = page.getByRole('list', { name: 'Models' }).getByRole('listitem')
  await page.goto('/help')
  await loaded(page)
  const asked: string[] = []
  page.on('request', (request) => new URL(request.url()).pathname === '/v1/models' && asked.push(request.url()))
  await printCpuTime(page, `the Model Library with ${MODELS} models`, async () => {
    await follow(page, '/models')
    // A search by role would be counted: it takes a part of this time.
    await page.waitForFunction((count) => document.querySelectorAll('[aria-label=Models] > li').length === count, CARDS)
  })
  await expect(cards).toHaveCount(CARDS)
  expect(asked.length).toBe(1)
  expect(await elements(page)).toBeLessThan(MAX_ELEMENTS)
  await page.getByRole('searchbox', { name: 'Search models' }).fill('model-987')
  await expect(cards).toHaveCount(1)
})

/** Page states for screenshots that a URL alone does not lead to. They rely on `sample-data.ts`. */

import type { Locator, Page } from '@playwright/test'
import { mutate } from './api'
import { expect, forebay, loaded } from './fixtures'

const CHAT = 'forebay/smollm2-135m-instruct'
const GENERATED = { timeout: 120_000 }

type PageState = { name: string; path: string; take: (page: Page) => Promise<void> }

const expectResponses = (page: Page, count: number) =>
  expect(page.locator('[data-state=done]')).toHaveCount(count, GENERATED)

export async function sendMessage(page: Page, text: string, responses: number) {
  await page.getByRole('textbox').last().fill(text)
  await page.getByRole('textbox').last().press('Enter')
  await expectResponses(page, responses)
}

/** On a phone the settings must be opened first. */
async function inSettings(page: Page, change: () => Promise<void>) {
  const settings = page.getByRole('button', { name: 'Settings', exact: true })
  if (await settings.isVisible()) await settings.click()
  await change()
  if (await settings.isVisible()) await settings.click()
}

const limitResponses = (page: Page, tokens: string) =>
  inSettings(page, () => page.getByRole('textbox', { name: 'Max tokens' }).fill(tokens))

/** Lets the Playground offer everything: what the small model lacks is known, and would be left out. */
export async function forgetCapabilities(page: Page) {
  await page.route(/\/v1\/models(\?|$)/, async (route) => {
    const response = await route.fetch()
    const { data, ...rest } = await response.json()
    const json = { ...rest, data: data.map((model: object) => ({ ...model, capabilities: {} })) }
    await route.fulfill({ response, json })
  })
}

/** A call of a tool that waits for its result. The model is too small to make one, so its response is made here. */
export async function callTool(page: Page) {
  const call = { index: 0, id: 'call_1', function: { name: 'get_weather', arguments: '{"city":"Ulm"}' } }
  const event = JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [call] } }] })
  const body = `data: ${event}\n\ndata: [DONE]\n\n`
  await page.route('**/v1/chat/completions', (route) => route.fulfill({ contentType: 'text/event-stream', body }))
  await forgetCapabilities(page)
  await page.reload()
  await loaded(page)
  await inSettings(page, async () => {
    await page.getByText('Format, tools and thinking').click()
    await page.getByRole('button', { name: 'Insert an example' }).click()
  })
  await page.getByRole('textbox').last().fill('What is the weather in Ulm?')
  await page.getByRole('textbox').last().press('Enter')
  await page.getByRole('textbox', { name: 'Result of get_weather' }).fill('Rain, 12 °C')
}

/** On a phone the navigation must be opened first. */
async function openInNavigation(page: Page, button: RegExp) {
  const opener = page.getByRole('button', { name: 'Open navigation' })
  if (await opener.isVisible()) await opener.click()
  await page.getByRole('button', { name: button }).click()
}

/** Drags over the middle of a chart, which zooms. */
export async function dragOver(page: Page, chart: Locator) {
  const box = await chart.boundingBox()
  if (!box) throw new Error('the chart is not visible')
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + box.width * 0.4, y)
  await nextFrames(page)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.6, y, { steps: 2 })
  await page.mouse.move(box.x + box.width * 0.8, y, { steps: 2 })
  await nextFrames(page)
  await page.mouse.up()
}

/** Charts follow the pointer a frame later, but a button at once. */
const nextFrames = (page: Page) =>
  page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))))

async function fillInEndpoint(page: Page, most: string) {
  await page.getByRole('textbox', { name: 'Name' }).fill('chat-eu')
  await page.getByRole('textbox', { name: 'Minimum replicas' }).fill('1')
  await page.getByRole('textbox', { name: 'Maximum replicas' }).fill(most)
}

async function keyAction(page: Page, action: string) {
  await page.getByRole('button', { name: 'Actions for chat-backend' }).click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
  await expect(page.getByRole('dialog')).toBeVisible()
}

const ALIASES = ['claude-sonnet-4-5', 'gpt-5-mini', 'agents/coding-assistant-with-a-long-name', 'claude-*']

async function addAliases(page: Page) {
  for (const name of ALIASES) {
    const path = `/api/workspaces/${forebay().workspaceId}/aliases/${encodeURIComponent(name)}`
    await mutate(page.request, 'PUT', path, { model: CHAT })
  }
}

const newEndpoint = `/endpoints/new?model=${encodeURIComponent(CHAT)}`

export const PAGE_STATES: PageState[] = [
  {
    name: 'navigation-switcher',
    path: '/keys',
    take: (page) => openInNavigation(page, /^Switch organization/),
  },
  {
    name: 'account-menu',
    path: '/keys',
    take: (page) => openInNavigation(page, /^Account of/),
  },
  {
    name: 'playground-chat',
    path: '/playground',
    take: async (page) => {
      await limitResponses(page, '150')
      await sendMessage(page, 'Write a Python function that adds two numbers.', 1)
    },
  },
  {
    name: 'playground-comparison',
    path: `/playground?model=${encodeURIComponent(CHAT)}&compare=dedicated%2Fchat-prod`,
    take: async (page) => {
      await limitResponses(page, '60')
      await sendMessage(page, 'Name three rivers of Europe.', 2)
    },
  },
  {
    name: 'playground-tools',
    path: '/playground',
    take: callTool,
  },
  {
    name: 'playground-code',
    path: '/playground',
    take: async (page) => {
      await page.getByRole('textbox').last().fill('Name three rivers of Europe.')
      await page.getByRole('button', { name: 'Show code' }).click()
    },
  },
  {
    name: 'playground-messages-code',
    path: '/playground',
    take: async (page) => {
      await page.getByRole('textbox').last().fill('Name three rivers of Europe.')
      await page.getByRole('button', { name: 'Show code' }).click()
      await page.getByText('Messages', { exact: true }).click()
    },
  },
  {
    name: 'settings-aliases',
    path: '/settings',
    take: async (page) => {
      await addAliases(page)
      await page.reload()
      const panel = page.getByRole('region', { name: 'Aliases', exact: true })
      await expect(panel.getByText('claude-*')).toBeVisible()
      await panel.scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'settings-alias-rejected',
    path: '/settings',
    take: async (page) => {
      const panel = page.getByRole('region', { name: 'Aliases', exact: true })
      await panel.getByRole('textbox', { name: 'Name' }).fill('no spaces')
      await panel.getByRole('combobox', { name: 'Model' }).fill(CHAT)
      await panel.getByRole('button', { name: 'Save alias' }).click()
      await expect(panel.getByText(/an alias has/)).toBeVisible()
      await panel.scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'model-library-aliases',
    path: '/models',
    take: (page) => addAliases(page),
  },
  {
    name: 'model-aliases',
    path: `/models/${CHAT}`,
    take: (page) => addAliases(page),
  },
  {
    name: 'playground-similarity',
    path: '/playground?tab=embeddings',
    take: async (page) => {
      const texts =
        'The river rose overnight\nWater levels went up until morning\nTax law for small companies\nA stream'
      await page.getByRole('textbox', { name: 'Texts, one per line' }).fill(texts)
      await page.getByRole('button', { name: 'Compute embeddings' }).click()
      await expect(page.getByRole('region', { name: 'Similarity matrix' })).toBeVisible()
    },
  },
  {
    name: 'key-create',
    path: '/keys',
    take: (page) => page.getByRole('button', { name: 'Create key' }).click(),
  },
  {
    name: 'key-created',
    path: '/keys',
    take: async (page) => {
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('textbox', { name: 'Name' }).fill('notebook')
      await page.getByRole('button', { name: 'Create key' }).last().click()
      await expect(page.getByRole('dialog', { name: 'Key created' })).toBeVisible()
    },
  },
  { name: 'key-rotate', path: '/keys', take: (page) => keyAction(page, 'Rotate') },
  { name: 'key-revoke', path: '/keys', take: (page) => keyAction(page, 'Revoke') },
  { name: 'new-endpoint-filled', path: newEndpoint, take: (page) => fillInEndpoint(page, '3') },
  {
    name: 'new-endpoint-checked',
    path: newEndpoint,
    take: async (page) => {
      await fillInEndpoint(page, '3')
      await page.getByRole('button', { name: 'Review' }).click()
      await expect(page.getByRole('region', { name: 'Ready to create' })).toBeVisible()
    },
  },
  {
    name: 'new-endpoint-exceeded',
    path: newEndpoint,
    take: async (page) => {
      await fillInEndpoint(page, '9')
      await page.getByRole('button', { name: 'Review' }).click()
      await expect(page.getByRole('alert')).toContainText('GPU_ALLOTMENT_EXCEEDED')
    },
  },
  {
    name: 'endpoint-scale',
    path: '/endpoints/chat-prod',
    take: (page) => page.getByRole('button', { name: 'Scale' }).click(),
  },
  {
    name: 'endpoint-delete',
    path: '/endpoints/chat-prod',
    take: (page) => page.getByRole('button', { name: 'Delete' }).click(),
  },
  {
    name: 'request',
    path: '/observability?tab=requests',
    take: async (page) => {
      await page
        .getByRole('button', { name: /^Details of/ })
        .first()
        .click()
      await expect(page.getByRole('dialog')).toBeVisible()
    },
  },
  {
    name: 'audit-entry',
    path: '/audit',
    take: async (page) => {
      await page.getByRole('button', { name: 'key.create' }).first().click()
      await expect(page.getByRole('dialog')).toBeVisible()
    },
  },
  {
    name: 'invite',
    path: '/members',
    take: (page) => page.getByRole('button', { name: 'Invite' }).click(),
  },
  {
    name: 'settings-conflict',
    path: '/settings',
    take: async (page) => {
      await page.getByRole('textbox', { name: 'Requests per minute' }).fill('500')
      await page.getByRole('textbox', { name: 'API keys' }).fill('15')
      const path = `/api/workspaces/${forebay().workspaceId}`
      const { version, requestsPerMinute, tokensPerMinute } = await (await page.request.get(path)).json()
      const theirs = { requestsPerMinute: requestsPerMinute - 10, tokensPerMinute: tokensPerMinute - 5_000, version }
      await mutate(page.request, 'PATCH', path, theirs)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await expect(page.getByText('These settings were changed in the meantime')).toBeVisible()
    },
  },
]

/** States for users who are signed out, or signed in as a member. */
export const SIGNED_OUT_STATES: PageState[] = [
  {
    name: 'sign-in-failed',
    path: '/sign-in',
    take: async (page) => {
      await page.getByLabel('Email').fill('unknown@example.com')
      await page.getByLabel('Password').fill('not the password')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await expect(page.getByRole('alert')).toBeVisible()
    },
  },
  {
    name: 'member-without-workspace',
    path: '/sign-in',
    take: async (page) => {
      const data = { email: 'ada@example.com', password: 'a password of some length' }
      expect((await page.request.post('/api/session', { data })).status()).toBe(200)
      await page.goto('/keys')
      await loaded(page)
    },
  },
]

/** Sample data for screenshots: keys, members, a serving endpoint, and a few minutes of calls. */

import type { APIRequestContext } from '@playwright/test'
import { chatLine, createBatch, mutate } from './api'
import { expect, test as setup, type UnderTest } from './fixtures'
import { SERVER_KEY, startModelServer } from './model-server'

const CHAT = 'forebay/smollm2-135m-instruct'
const EMBEDDING = 'sentence-transformers/all-minilm-l6-v2'
const STARTED = { timeout: 180_000 }
const ROUNDS = 24
const ROUND_MS = 4_000
const QUESTIONS = ['Name three rivers.', 'What is a forebay?', 'Say hello in French.', 'Count to five.']

setup('create sample data', async ({ page, forebay }) => {
  setup.setTimeout(600_000)
  const api = page.request
  const people = `/api/organizations/${forebay.organizationId}/invitations`
  await mutate(api, 'POST', people, { email: 'grace@example.com', role: 'admin' })
  await mutate(api, 'POST', people, {
    email: 'linus@example.com',
    role: 'member',
    workspaceIds: [forebay.workspaceId],
  })
  const user = { password: 'a password of some length', organizationId: forebay.organizationId, role: 'member' }
  await mutate(api, 'POST', '/api/users', { email: 'ada@example.com', ...user })
  await mutate(api, 'POST', '/api/workspaces', { name: 'Research' })

  const keys = `/api/workspaces/${forebay.workspaceId}/keys`
  const backend = await mutate(api, 'POST', keys, {
    name: 'chat-backend',
    requestsPerMinute: 120,
    labels: { team: 'search' },
    budgets: [
      { window: 'day', usd: '1' },
      { window: 'month', usd: '25' },
    ],
  })
  const nightly = { name: 'nightly-embeddings', tokensPerMinute: 50_000, labels: { team: 'search' } }
  const batch = await mutate(api, 'POST', keys, nightly)
  const old = await mutate(api, 'POST', keys, { name: 'prototype' })
  await mutate(api, 'POST', `${keys}/${old.id}/disable`)

  await callsOfPeople(api, forebay)
  const bounds = { monthlyUsd: '25', monthlyTokens: 5_000_000, requestsPerMinute: 2_000, tokensPerMinute: 400_000 }
  await mutate(api, 'PATCH', `/api/operator/organizations/${forebay.organizationId}`, bounds)

  const scaling = { minReplicas: 1, maxReplicas: 2 }
  const endpoints = `${forebay.url}/v1/endpoints`
  const headers = { authorization: `Bearer ${forebay.apiKey}` }
  const create = { name: 'chat-prod', model: CHAT, flavor: 'cpu-1x-q4', ...scaling }
  expect((await api.post(endpoints, { headers, data: create })).ok()).toBe(true)
  const state = async () => (await (await api.get(`${endpoints}/chat-prod`, { headers })).json()).state
  await expect.poll(state, STARTED).toBe('serving')

  for (let round = 0; round < ROUNDS; round++) {
    const until = Date.now() + ROUND_MS
    await calls(api, forebay, round, backend.key, batch.key)
    await page.waitForTimeout(Math.max(0, until - Date.now()))
  }
  const long = { messages: [{ role: 'user', content: 'word '.repeat(20_000) }] }
  const lines = QUESTIONS.flatMap((_, index) => Array.from({ length: 10 }, (_, at) => chatLine(`${index}-${at}`, CHAT)))
  await createBatch(api, forebay, [...lines, chatLine('too-long', CHAT, long)])
  await api.post(endpoints, { headers, data: { ...create, name: 'chat-staging' } })
  await expect
    .poll(async () => (await api.post(`${endpoints}/chat-staging/suspend`, { headers })).ok(), STARTED)
    .toBe(true)
})

const LARGE = 'acme/llama-3.3-70b-instruct'
/** How often each person calls; together within the workspace's limit per minute. */
const PEOPLE = { 'ada@example.com': 45, 'grace@example.com': 31, 'linus@example.com': 15, 'margaret@example.com': 4 }

/** Calls of the people behind one key, at a price that shows in costs. Their model is gone afterwards. */
async function callsOfPeople(api: APIRequestContext, forebay: UnderTest) {
  const server = await startModelServer({ prompt_tokens: 1_200, completion_tokens: 350 })
  const upstreams = [{ url: server.url, model: 'Acme/Echo-1', apiKey: SERVER_KEY }]
  const prices = { inputPer1m: '6.00', outputPer1m: '30.00' }
  await mutate(api, 'POST', '/api/operator/models', { id: LARGE, contextLength: 4_096, upstreams, ...prices })
  const workspace = `/api/workspaces/${forebay.workspaceId}`
  const { version } = await (await api.get(workspace)).json()
  await mutate(api, 'PATCH', workspace, { version, endUsers: { keepText: true, budgets: [] } })
  const key = await mutate(api, 'POST', `${workspace}/keys`, {
    name: 'chat-application',
    permissions: ['inference'],
    allowedModels: ['acme/*', CHAT],
    allowedIps: ['127.0.0.0/8'],
    labels: { team: 'support' },
    trustsEndUser: true,
    budgets: [
      { window: 'day', usd: '2' },
      { window: 'month', usd: '25' },
    ],
  })
  const headers = { authorization: `Bearer ${key.key}` }
  const call = async (model: string, user: string) => {
    const data = { model, user, max_tokens: 8, messages: [{ role: 'user', content: 'Hello' }] }
    return (await api.post(`${forebay.url}/v1/chat/completions`, { headers, data })).status()
  }
  await expect.poll(() => call(LARGE, 'ada@example.com'), STARTED).toBe(200)
  for (const [user, times] of Object.entries(PEOPLE)) {
    expect(await call(CHAT, user)).toBe(200)
    for (let time = 0; time < times; time++) expect(await call(LARGE, user)).toBe(200)
  }
  await mutate(api, 'DELETE', `/api/operator/models/${encodeURIComponent(LARGE)}`)
  await server.stop()
}

async function calls(api: APIRequestContext, forebay: UnderTest, round: number, backend: string, batch: string) {
  const call = (path: string, key: string, data: object) =>
    api.post(`${forebay.url}/v1/${path}`, { headers: { authorization: `Bearer ${key}` }, data })
  const chat = (model: string) => ({
    model,
    stream: true,
    max_tokens: 8 + (round % 5) * 8,
    messages: [{ role: 'user', content: QUESTIONS[round % QUESTIONS.length] }],
  })
  await call('chat/completions', backend, chat(CHAT))
  await call('chat/completions', forebay.apiKey, chat('dedicated/chat-prod'))
  if (round % 3 === 0) await call('embeddings', batch, { model: EMBEDDING, input: QUESTIONS })
  if (round % 7 === 0) await call('chat/completions', backend, chat('acme/none'))
}

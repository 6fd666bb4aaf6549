/** API calls of the signed-in administrator, for setting up test data. */

import type { APIRequestContext } from '@playwright/test'
import { expect, type UnderTest } from './fixtures'

/** Sends a mutation with the session cookie and CSRF token; fails unless it succeeds. */
export async function mutate(
  request: APIRequestContext,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  data?: object,
) {
  const { csrfToken } = await (await request.get('/api/session')).json()
  const response = await request.fetch(path, { method, data, headers: { 'X-CSRF-Token': csrfToken } })
  expect(response.ok(), `${method} ${path}: ${response.status()} ${await response.text()}`).toBe(true)
  return response.status() === 204 ? undefined : response.json()
}

/** A line of a file of calls: a short chat. */
export const chatLine = (customId: string, model: string, members: object = {}) =>
  JSON.stringify({
    custom_id: customId,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model, max_tokens: 4, messages: [{ role: 'user', content: 'Hello' }], ...members },
  })

/** Uploads a file of lines with the key of the test, and makes a batch of it. */
export async function createBatch(request: APIRequestContext, { url, apiKey }: UnderTest, lines: string[]) {
  const headers = { authorization: `Bearer ${apiKey}` }
  const buffer = Buffer.from(lines.join('\n'))
  const multipart = { purpose: 'batch', file: { name: 'questions.jsonl', mimeType: 'application/jsonl', buffer } }
  const uploaded = await request.post(`${url}/v1/files`, { headers, multipart })
  expect(uploaded.status(), await uploaded.text()).toBe(200)
  const { id } = await uploaded.json()
  const data = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  const created = await request.post(`${url}/v1/batches`, { headers, data: { ...data, metadata: { run: 'nightly' } } })
  expect(created.status(), await created.text()).toBe(200)
  return (await created.json()) as { id: string }
}

/** API calls of the signed-in administrator, for setting up test data. */

import type { APIRequestContext } from '@playwright/test'
import { expect } from './fixtures'

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

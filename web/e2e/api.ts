/** The API as the signed-in administrator calls it, for what a test needs to find. */

import type { APIRequestContext } from '@playwright/test'
import { expect } from './fixtures'

/** Changes something with the session's cookie; fails unless the answer is a good one. */
export async function change(
  request: APIRequestContext,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  data?: object,
) {
  const { csrfToken } = await (await request.get('/api/session')).json()
  const answer = await request.fetch(path, { method, data, headers: { 'X-CSRF-Token': csrfToken } })
  expect(answer.ok(), `${method} ${path}: ${answer.status()} ${await answer.text()}`).toBe(true)
  return answer.status() === 204 ? undefined : answer.json()
}

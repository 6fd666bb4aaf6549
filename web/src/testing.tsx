/** For component tests: the console's providers, and an API that responds as the test says. */

import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render } from '@testing-library/react'
import type { ReactNode } from 'react'

export type Call = { method: string; path: string; body: unknown }
type FakeResponse = { status?: number; body: unknown }

const unexpected = ({ method, path }: Call): FakeResponse => ({
  status: 500,
  body: { error: `unexpected: ${method} ${path}` },
})
let respond: (call: Call) => FakeResponse = unexpected

/** Sets the responses of the API, and returns the calls that arrive. */
export function fakeApi(responder: (call: Call) => FakeResponse | undefined): Call[] {
  const calls: Call[] = []
  respond = (call) => {
    calls.push(call)
    return responder(call) ?? unexpected(call)
  }
  return calls
}

/** Takes the place of `fetch`: see `test-setup.ts`. */
export const fetchFromFakeApi: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const text = await request.text()
  const call = {
    method: request.method,
    path: new URL(request.url).pathname,
    body: text ? JSON.parse(text) : undefined,
  }
  const { status = 200, body } = respond(call)
  const response = new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
  // The address says which surface responds; a made response has none.
  return Object.defineProperty(response, 'url', { value: request.url })
}

/** An error of `/api` at a field of the request. */
export const invalid = (field: string, error = 'is not valid'): FakeResponse => ({
  status: 422,
  body: { code: 'invalid_value', error, field },
})

export function renderInConsole(page: ReactNode) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  return render(
    <MantineProvider env="test">
      <QueryClientProvider client={queries}>{page}</QueryClientProvider>
    </MantineProvider>,
  )
}

import { expect, it, vi } from 'vitest'
import { loadPage } from './load-page'

function tab(connected: () => Promise<void> = async () => {}) {
  const stored = new Map<string, string>()
  const at = { path: '/keys' }
  return {
    connected,
    at,
    reload: vi.fn(),
    address: () => at.path,
    storage: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value),
    },
    now: () => 1_000_000,
  }
}
const missing = async () => {
  throw new TypeError('Failed to fetch dynamically imported module: /assets/KeysPage-old.js')
}

it('after an upgrade a page whose files are gone is loaded again, once', async () => {
  const environment = tab()
  void loadPage(missing, environment)
  await vi.waitFor(() => expect(environment.reload).toHaveBeenCalledOnce())
  await expect(loadPage(missing, environment)).rejects.toThrow('could not be loaded')
  expect(environment.reload).toHaveBeenCalledOnce()
})

it('without the gateway it waits, and a form that was returned to is kept', async () => {
  let back: (() => void) | undefined
  const environment = tab(
    () =>
      new Promise((reached) => {
        back = reached
      }),
  )
  const loading = loadPage(missing, environment)
  await vi.waitFor(() => expect(back).toBeDefined())
  environment.at.path = '/endpoints/new'
  back?.()
  await expect(loading).rejects.toThrow('could not be loaded')
  expect(environment.reload).not.toHaveBeenCalled()
})

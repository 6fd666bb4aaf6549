/** Loads a page's module, also while the gateway is away, and after another build has replaced the one of this tab. */

import { connected } from '../api/connection'

const RELOADED = 'forebay-reloaded'
/** A second failure within this time is not one of an old build. */
const RELOAD_PERIOD_MS = 30_000

type Environment = {
  connected: () => Promise<void>
  address: () => string
  reload: () => void
  storage: Pick<Storage, 'getItem' | 'setItem'>
  now: () => number
}

const browser: Environment = {
  connected,
  address: () => location.href,
  reload: () => location.reload(),
  get storage() {
    return sessionStorage
  },
  now: () => Date.now(),
}

/**
 * Waits for the gateway if the module cannot be loaded, and then loads the whole page once: its files have other names after
 * an upgrade, and browsers remember failed ones. No form is lost, since the page before was left to open this one; if it was
 * returned to meanwhile, nothing is loaded.
 */
export async function loadPage<T>(load: () => Promise<T>, environment = browser): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const address = environment.address()
    await environment.connected()
    if (environment.address() !== address || hasReloaded(environment)) {
      // With a message of its own: the router would reload for the browser's.
      throw new Error('A part of the console could not be loaded. Load the page again.', { cause })
    }
    environment.storage.setItem(RELOADED, `${environment.now()} ${address}`)
    environment.reload()
    return new Promise(() => {})
  }
}

function hasReloaded({ storage, now, address }: Environment): boolean {
  const [at, reloaded] = (storage.getItem(RELOADED) ?? '').split(' ')
  return reloaded === address() && now() - Number(at) < RELOAD_PERIOD_MS
}

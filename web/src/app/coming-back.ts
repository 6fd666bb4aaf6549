/** Where single sign-on comes back to: the provider leads to the first page only, so the browser remembers. */

import { paths, safeNext } from '../paths'

const KEY = 'forebay-return-to'

export function keepReturn(next: string) {
  sessionStorage.setItem(KEY, next)
}

/** What was kept, once. */
export function takeReturn(): string | undefined {
  const kept = safeNext(sessionStorage.getItem(KEY))
  sessionStorage.removeItem(KEY)
  return kept === paths.home() ? undefined : kept
}

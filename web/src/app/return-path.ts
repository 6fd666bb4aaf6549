/** The page to return to after single sign-on. The provider always redirects to the home page, so the browser stores it. */

import { paths, safeNext } from '../paths'

const KEY = 'forebay-return-to'

export function saveReturnPath(next: string) {
  sessionStorage.setItem(KEY, next)
}

/** Returns the stored path and removes it. */
export function takeReturnPath(): string | undefined {
  const stored = safeNext(sessionStorage.getItem(KEY))
  sessionStorage.removeItem(KEY)
  return stored === paths.home() ? undefined : stored
}

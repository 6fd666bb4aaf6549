import { useMatch, useRouter } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { type Filters, readFilters, type Values, writeFilters } from './filters'

/**
 * The filters of a page as the address has them, and a way to change them. Declare `filters` outside the component.
 * A change takes the place of the entry in the history, so that "back" leaves the page.
 */
export function useFilters<F extends Filters>(filters: F): [Values<F>, (change: Partial<Values<F>>) => void] {
  const router = useRouter()
  // Those of the page that is shown: the address is already the next page's while that is being loaded.
  const search = useMatch({ strict: false, select: (match) => match.search })
  const page = useMatch({ strict: false, select: (match) => match.pathname })
  const values = useMemo(() => readFilters(filters, search), [filters, search])
  const change = useCallback(
    (wish: Partial<Values<F>>) => {
      // The address now, not that of the last render: two changes at once must not undo each other.
      const { pathname, search: now, hash } = router.history.location
      if (pathname !== page) return
      const written = writeFilters(filters, Object.fromEntries(new URLSearchParams(now)), wish)
      const query = new URLSearchParams(written).toString()
      router.history.replace(`${pathname}${query ? `?${query}` : ''}${hash}`)
    },
    [filters, router, page],
  )
  return [values, change]
}

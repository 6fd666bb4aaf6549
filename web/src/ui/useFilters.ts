import { useMatch, useRouter } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { type Filters, readFilters, type Values, writeFilters } from './filters'

/**
 * Filters of a page from the URL, and a function to change them. Declare `filters` outside the component.
 * A change replaces the history entry, so that "back" leaves the page.
 */
export function useFilters<F extends Filters>(filters: F): [Values<F>, (change: Partial<Values<F>>) => void] {
  const router = useRouter()
  // Read from the match, because the URL already belongs to the next page while that one is loading.
  const search = useMatch({ strict: false, select: (match) => match.search })
  const page = useMatch({ strict: false, select: (match) => match.pathname })
  const values = useMemo(() => readFilters(filters, search), [filters, search])
  const change = useCallback(
    (changed: Partial<Values<F>>) => {
      // The current URL rather than that of the last render, so that two quick changes do not undo each other.
      const { pathname, search: now, hash } = router.history.location
      if (pathname !== page) return
      const written = writeFilters(filters, Object.fromEntries(new URLSearchParams(now)), changed)
      const query = new URLSearchParams(written).toString()
      const next = `${pathname}${query ? `?${query}` : ''}${hash}`
      // A navigation restores scroll positions.
      if (next !== router.history.location.href) router.history.replace(next)
    },
    [filters, router, page],
  )
  return [values, change]
}

import { useRouter, useRouterState } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { type Filters, readFilters, type Values, writeFilters } from './filters'

/**
 * The filters of a page as the address has them, and a way to change them. Declare `filters` outside the component.
 * A change takes the place of the entry in the history, so that "back" leaves the page.
 */
export function useFilters<F extends Filters>(filters: F): [Values<F>, (change: Partial<Values<F>>) => void] {
  const router = useRouter()
  const search = useRouterState({ select: (state) => state.location.searchStr })
  const values = useMemo(() => readFilters(filters, Object.fromEntries(new URLSearchParams(search))), [filters, search])
  const change = useCallback(
    (wish: Partial<Values<F>>) => {
      // The address now, not that of the last render: two changes at once must not undo each other.
      const { pathname, search: now, hash } = router.history.location
      const written = writeFilters(filters, Object.fromEntries(new URLSearchParams(now)), wish)
      const query = new URLSearchParams(written).toString()
      router.history.replace(`${pathname}${query ? `?${query}` : ''}${hash}`)
    },
    [filters, router],
  )
  return [values, change]
}

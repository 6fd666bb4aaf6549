import { useState } from 'react'

const PAGE = 50

/** The first rows of a list of any length, so that a page with thousands stays fast, and how to show more. */
export function useFirstRows<Row>(rows: readonly Row[], page = PAGE) {
  const [count, setCount] = useState(page)
  return {
    rows: rows.length > count ? rows.slice(0, count) : rows,
    total: rows.length,
    hasMore: rows.length > count,
    onMore: () => setCount(count + page),
  }
}

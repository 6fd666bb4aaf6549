import { useState } from 'react'

const PAGE = 50

/** The first rows of a list of any length, so that a page with thousands stays fast, and how to show more. */
export function useFirstRows<Row>(rows: readonly Row[]) {
  const [count, setCount] = useState(PAGE)
  return {
    shown: rows.length > count ? rows.slice(0, count) : rows,
    left: Math.max(0, rows.length - count),
    more: () => setCount(count + PAGE),
  }
}

/** How a table is sorted, as the address says it: `price`, or `-price` from the most. */

export type Sort = { column: string; descending: boolean }

export const parseSort = (text: string): Sort =>
  text.startsWith('-') ? { column: text.slice(1), descending: true } : { column: text, descending: false }

/** What a click on a column's head asks for: the column from the least, and at the second click from the most. */
export function nextSort(current: string, column: string): string {
  return current === column ? `-${column}` : column
}

type Sortable = string | number | bigint | null | undefined

/** Rows in order; what has no value comes last, either way. */
export function sortRows<Row>(
  rows: readonly Row[],
  value: ((row: Row) => Sortable) | undefined,
  descending: boolean,
): Row[] {
  if (!value) return [...rows]
  return [...rows].sort((left, right) => {
    const [a, b] = [value(left), value(right)]
    if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1
    const order = typeof a === 'string' && typeof b === 'string' ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0
    return descending ? -order : order
  })
}

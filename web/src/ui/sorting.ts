/** Sort order of a table as a URL parameter: `price` ascending, `-price` descending. */

export type Sort = { column: string; descending: boolean }

export const parseSort = (text: string): Sort =>
  text.startsWith('-') ? { column: text.slice(1), descending: true } : { column: text, descending: false }

/** Sort order after a click on a column header: ascending first, descending on the second click. */
export function nextSort(current: string, column: string): string {
  return current === column ? `-${column}` : column
}

type Sortable = string | number | bigint | null | undefined

/** Comparing with it is faster than `localeCompare`. */
const { compare } = new Intl.Collator()

/** Sorted copy of the rows; missing values come last in both directions. */
export function sortRows<Row>(
  rows: readonly Row[],
  value: ((row: Row) => Sortable) | undefined,
  descending: boolean,
): Row[] {
  if (!value) return [...rows]
  return [...rows].sort((left, right) => {
    const [a, b] = [value(left), value(right)]
    if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1
    const order = typeof a === 'string' && typeof b === 'string' ? compare(a, b) : a < b ? -1 : a > b ? 1 : 0
    return descending ? -order : order
  })
}

/** Whether a text has all words, in any order and case. */
export const hasWords = (text: string, words: string) =>
  words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.toLowerCase().includes(word))

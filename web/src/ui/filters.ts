/**
 * Filters live in the address. A page says which ones it has and what they may be; whatever else the address says is
 * taken for the default, and a default is not written.
 */

export type Filter<T extends string> = { fallback: T; accepts: (text: string) => text is T }
export type Filters = Record<string, Filter<string>>
export type Values<F extends Filters> = { [Name in keyof F]: F[Name] extends Filter<infer T> ? T : never }

const MAX_TEXT = 200

/** Free text, such as a search or an id. */
export const text = (): Filter<string> => ({
  fallback: '',
  accepts: (value): value is string => value.length <= MAX_TEXT,
})

/** One of some words; the first is the default unless told. */
export function oneOf<const T extends string>(words: readonly [T, ...T[]], fallback: T = words[0]): Filter<T> {
  return { fallback, accepts: (value): value is T => (words as readonly string[]).includes(value) }
}

/** A day as `2026-11-15`, or none. */
export const day = (): Filter<string> => ({
  fallback: '',
  accepts: (value): value is string => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
})

/** A moment as RFC 3339, or none. */
export const moment = (): Filter<string> => ({
  fallback: '',
  accepts: (value): value is string => /^\d{4}-\d{2}-\d{2}T/.test(value) && !Number.isNaN(Date.parse(value)),
})

export function readFilters<F extends Filters>(filters: F, search: Record<string, unknown>): Values<F> {
  const values = Object.entries(filters).map(([name, filter]) => {
    const given = search[name]
    return [name, typeof given === 'string' && filter.accepts(given) ? given : filter.fallback]
  })
  return Object.fromEntries(values) as Values<F>
}

/** The search of an address after a change: what else was in it stays, defaults are left out. */
export function writeFilters<F extends Filters>(
  filters: F,
  search: Record<string, unknown>,
  change: Partial<Values<F>>,
): Record<string, string> {
  const written: Record<string, string> = {}
  for (const [name, value] of Object.entries({ ...search, ...change })) {
    if (typeof value === 'string' && value !== '' && value !== filters[name]?.fallback) written[name] = value
  }
  return written
}

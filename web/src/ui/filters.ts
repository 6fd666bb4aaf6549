/**
 * Filters are kept in the URL. A page declares its filters and their valid values; invalid values are replaced by the
 * default, and defaults are not written.
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

/** One of several values; the first is the default unless `fallback` is given. */
export function oneOf<const T extends string>(values: readonly [T, ...T[]], fallback: T = values[0]): Filter<T> {
  return { fallback, accepts: (value): value is T => (values as readonly string[]).includes(value) }
}

/** A day such as `2026-11-15`, or empty. */
export const day = (): Filter<string> => ({
  fallback: '',
  accepts: (value): value is string => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
})

/** An RFC 3339 time, or empty. */
export const timestamp = (): Filter<string> => ({
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

/** Query parameters after a change: keeps unrelated ones and omits defaults. */
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

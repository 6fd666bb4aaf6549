/** Names with values, as the texts `name=value` of a field. */

export const pairTexts = (pairs: Record<string, string> | null | undefined) =>
  Object.entries(pairs ?? {}).map(([name, value]) => `${name}=${value}`)

/** A text without `=` is a name without a value. */
export const toPairs = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    texts.map((text) => {
      const [name = '', ...value] = text.split('=')
      return [name.trim(), value.join('=').trim()]
    }),
  )

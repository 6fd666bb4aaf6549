/** Keeps the matrix readable. */
export const MAX_TEXTS = 24

/** The non-empty lines of a field. */
export const textsOf = (lines: string) =>
  lines
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

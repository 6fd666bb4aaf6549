/** More would make a matrix that nobody reads. */
export const MAX_TEXTS = 24

/** The texts of a field, one to a line; empty lines are none. */
export const textsOf = (lines: string) =>
  lines
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

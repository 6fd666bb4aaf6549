/** Errors of a form by field. */

import { ApiError } from '../../../api/errors'

export type FieldErrors = {
  /** The message for a field, if the error names it. */
  of: (field: string) => string | undefined
  /** The error, unless one of the fields shows it. */
  rest: Error | null
}

/** `shown` are the fields of the form, such as `upstreams[0].url`. */
export function fieldErrors(error: Error | null, shown: readonly string[]): FieldErrors {
  const field = error instanceof ApiError ? error.field : undefined
  const isShown = field !== undefined && shown.includes(field)
  return { of: (name) => (isShown && field === name ? error?.message : undefined), rest: isShown ? null : error }
}

const RESERVED = ['flavors', 'allotments', 'new']
const PATTERN = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Validates an endpoint name with the rules of the API. `new` is reserved for a page of the console. */
export function nameError(name: string): string | undefined {
  const trimmed = name.trim()
  if (!trimmed) return 'Enter a name'
  if (RESERVED.includes(trimmed)) return `${trimmed} is reserved`
  return PATTERN.test(trimmed)
    ? undefined
    : 'Use up to 63 lowercase letters, digits and hyphens; start with a letter, do not end with a hyphen'
}

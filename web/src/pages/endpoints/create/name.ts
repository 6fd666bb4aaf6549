const RESERVED = ['flavors', 'allotments', 'new']
const FORM = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/** What is wrong with a name, before the API says so. `new` is an address of the console's own. */
export function nameFault(name: string): string | undefined {
  const said = name.trim()
  if (!said) return 'Give it a name'
  if (RESERVED.includes(said)) return `${said} is reserved`
  return FORM.test(said) ? undefined : 'Small letters, digits and dashes, at most 63; a letter first, no dash last'
}

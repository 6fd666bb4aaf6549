const ALLOWED = new Set(['http:', 'https:', 'mailto:'])

/** Returns the link if it is safe, otherwise an empty string. Relative links would lead into the console. */
export function safeLink(href: string): string {
  try {
    return ALLOWED.has(new URL(href).protocol) ? href : ''
  } catch {
    return ''
  }
}

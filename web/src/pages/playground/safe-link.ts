const ALLOWED = new Set(['http:', 'https:', 'mailto:'])

/** A link of a model's text as it may be followed, or nothing. Relative ones would lead into the console: they go. */
export function safeLink(href: string): string {
  try {
    return ALLOWED.has(new URL(href).protocol) ? href : ''
  } catch {
    return ''
  }
}

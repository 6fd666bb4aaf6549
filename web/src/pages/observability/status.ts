import type { Tone } from '../../ui/StatusBadge'

/** How a status looks. A stream that broke off has 200 and a code. */
export function toneOfStatus(status: number, code: string): Tone {
  if (status >= 500) return 'bad'
  if (status >= 400) return 'warn'
  return code ? 'bad' : 'ok'
}

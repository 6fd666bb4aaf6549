import type { Tone } from '../../ui/StatusBadge'

/** Colour of a status. A stream that was cut off has status 200 and an error code. */
export function toneOfStatus(status: number, code: string): Tone {
  if (status >= 500) return 'bad'
  if (status >= 400) return 'warn'
  return code ? 'bad' : 'ok'
}

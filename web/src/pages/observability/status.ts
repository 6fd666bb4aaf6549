import type { Tone } from '../../ui/StatusBadge'

/** Colour of a status. A stream that was cut off has status 200 and an error code; a client that left is not an error. */
export function toneOfStatus(status: number, code: string): Tone {
  if (status === 499) return 'idle'
  if (status >= 500) return 'bad'
  if (status >= 400) return 'warn'
  return code ? 'bad' : 'ok'
}

/** Whether a stream continued at another replica after its replica was lost. */
export function failoverText(times: number): string {
  if (times === 0) return 'none'
  return `continued at another replica ${times === 1 ? 'once' : `${times} times`}; the last one is shown`
}

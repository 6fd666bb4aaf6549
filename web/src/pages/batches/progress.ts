/** How far a batch is, and how long it will take. Times are in seconds since 1970, as in the API. */

import type { Batch } from '../../api/batches'
import { formatCount, formatDuration } from '../../ui/format'
import { displayIn } from '../../ui/states'

export const stateOf = displayIn({
  validating: { tone: 'busy', label: 'Checking', meaning: 'The lines of the file are checked; none has run yet' },
  in_progress: { tone: 'busy', label: 'Running', meaning: 'Lines run in the room that other calls leave' },
  finalizing: { tone: 'busy', label: 'Writing results', meaning: 'All lines have ended' },
  completed: { tone: 'ok', label: 'Completed', meaning: 'All lines have ended' },
  failed: { tone: 'bad', label: 'Failed', meaning: 'The file is invalid, and no line has run' },
  expired: { tone: 'warn', label: 'Expired', meaning: 'The time was up before all lines had run' },
  cancelling: { tone: 'busy', label: 'Cancelling', meaning: 'Running lines end now' },
  cancelled: { tone: 'idle', label: 'Cancelled', meaning: 'Lines that had ended keep their results' },
})

/** Reason why a batch cannot be cancelled; undefined if it can. */
export const cancelBlocked = ({ status }: Pick<Batch, 'status'>): string | undefined => {
  if (status === 'validating' || status === 'in_progress') return undefined
  return stateOf(status).tone === 'busy' ? 'The batch is ending already' : 'The batch has ended'
}

const endedLines = ({ request_counts: counts }: Pick<Batch, 'request_counts'>) =>
  (counts?.completed ?? 0) + (counts?.failed ?? 0)

/** The share of the lines that have ended. */
export const shareOf = (batch: Pick<Batch, 'request_counts'>) => {
  const total = batch.request_counts?.total ?? 0
  return total === 0 ? 0 : endedLines(batch) / total
}

/** `1,200 of 5,000 lines, 12 failed`. */
export function countsText(batch: Pick<Batch, 'request_counts'>): string {
  const { total = 0, failed = 0 } = batch.request_counts ?? {}
  if (total === 0) return 'no lines'
  const text = `${formatCount(endedLines(batch))} of ${formatCount(total)} ${total === 1 ? 'line' : 'lines'}`
  return failed ? `${text}, ${formatCount(failed)} failed` : text
}

/** `3.4 lines/s`, `12 lines/min`. */
export function rateText(perSecond: number): string {
  const [rate, unit] = perSecond < 1 ? [perSecond * 60, 'min'] : [perSecond, 's']
  return `${Number(rate.toPrecision(2)).toLocaleString('en-GB')} lines/${unit}`
}

/** `3.4 lines/s, 18 min left`; undefined if it is not known. */
export function paceText(
  { lines_per_second: rate, estimated_end_at: end }: Pick<Batch, 'lines_per_second' | 'estimated_end_at'>,
  now: number,
): string | undefined {
  if (!rate) return undefined
  return end ? `${rateText(rate)}, ${formatDuration(Math.max(0, end * 1_000 - now))} left` : rateText(rate)
}

/** A time of the API as RFC 3339. */
export const isoOf = (seconds: number | null | undefined) =>
  seconds == null ? undefined : new Date(seconds * 1_000).toISOString()

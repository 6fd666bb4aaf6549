/** Shortest polling interval of any view. */
export const FASTEST_POLL_MS = 2_000

/** A tick that is closer than this is left out. */
const SOON_MS = 500

/** The time until the next tick of a clock that all queries with this interval share, so that panels show the same moment. */
export function untilTick(everyMs: number, now = Date.now()): number {
  const left = everyMs - (now % everyMs)
  return left < SOON_MS ? left + everyMs : left
}

/** Query options for polling. Hidden tabs do not poll. */
export function polled(everyMs: number) {
  return { refetchInterval: Math.max(everyMs, FASTEST_POLL_MS), refetchIntervalInBackground: false } as const
}

/** The least time between two questions of a live view. */
export const FASTEST_POLL_MS = 2_000

/** Options of a query that stays fresh by asking again; a hidden tab asks nothing. */
export function polled(everyMs: number) {
  return { refetchInterval: Math.max(everyMs, FASTEST_POLL_MS), refetchIntervalInBackground: false } as const
}

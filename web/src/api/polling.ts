/** Shortest polling interval of any view. */
export const FASTEST_POLL_MS = 2_000

/** Query options for polling. Hidden tabs do not poll. */
export function polled(everyMs: number) {
  return { refetchInterval: Math.max(everyMs, FASTEST_POLL_MS), refetchIntervalInBackground: false } as const
}

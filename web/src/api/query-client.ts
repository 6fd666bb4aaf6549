import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './errors'

const MAX_RETRIES = 2
const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 4_000
/** A longer `Retry-After` is not waited for: the page shows the error instead. */
const MAX_RETRY_AFTER_SECS = 10

/** Only transient errors are retried: an unreachable server, or a 503 that asks for a short wait. */
const isTransient = (error: unknown) =>
  error instanceof ApiError &&
  (error.kind === 'transport' || error.status === 503) &&
  (error.retryAfterSecs ?? 0) <= MAX_RETRY_AFTER_SECS

/**
 * The wait before a retry: what `Retry-After` asks for, or else a backoff. Both are longer by a random part, so that many
 * open pages do not come back in the same moment.
 */
export function retryDelay(attempt: number, error: unknown, random = Math.random): number {
  const asked = error instanceof ApiError ? error.retryAfterSecs : undefined
  const base = asked === undefined ? Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS) : asked * 1_000
  return base * (1 + random() / 2)
}

export const shouldRetry = (failures: number, error: unknown) => failures < MAX_RETRIES && isTransient(error)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 5_000, retry: shouldRetry, retryDelay: (attempt, error) => retryDelay(attempt, error) },
    // Not paused while the connection is lost: what was clicked must not happen minutes later.
    mutations: { retry: false, networkMode: 'always' },
  },
})

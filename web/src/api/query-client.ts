import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './errors'

const MAX_RETRIES = 2

/** Only transient errors are retried: an unreachable server, or a 503. */
const isTransient = (error: unknown) =>
  error instanceof ApiError && (error.kind === 'transport' || error.status === 503)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < MAX_RETRIES && isTransient(error),
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 4_000),
    },
    mutations: { retry: false },
  },
})

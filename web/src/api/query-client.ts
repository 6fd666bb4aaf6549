import { QueryClient } from '@tanstack/react-query'
import { Failure } from './errors'

const TRIES = 2

/** Only what may pass by itself is tried again: no way to the server, or a server that says so. */
const isPassing = (error: unknown) => error instanceof Failure && (error.kind === 'transport' || error.status === 503)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => failures < TRIES && isPassing(error),
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 4_000),
    },
    mutations: { retry: false },
  },
})

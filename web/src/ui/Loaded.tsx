import type { ReactNode } from 'react'
import { ErrorPanel } from './ErrorPanel'

/** What a query knows, as far as showing it goes. */
type Query<T> = { data: T | undefined; error: unknown; refetch: () => unknown }
type Props<T> = { query: Query<T>; skeleton: ReactNode; errorTitle?: string; children: (data: T) => ReactNode }

/** Skeleton, error with a way to try again, or the data. What was loaded once stays when a later refresh fails. */
export function Loaded<T>({ query, skeleton, errorTitle, children }: Props<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <ErrorPanel error={query.error} title={errorTitle} onRetry={() => void query.refetch()} />
  return <Loading>{skeleton}</Loading>
}

/** A skeleton, told to those who do not see it. */
export function Loading({ children }: { children: ReactNode }) {
  return (
    <div role="status" aria-busy="true" aria-label="Loading">
      {children}
    </div>
  )
}

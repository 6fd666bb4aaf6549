import type { ReactNode } from 'react'
import { ErrorPanel } from './ErrorPanel'

/** The part of a query that rendering needs. */
type Query<T> = { data: T | undefined; error: unknown; refetch: () => unknown }
type Props<T> = { query: Query<T>; skeleton: ReactNode; errorTitle?: string; children: (data: T) => ReactNode }

/** Shows a skeleton, an error with a retry button, or the data. Loaded data stays visible when a later refresh fails. */
export function Loaded<T>({ query, skeleton, errorTitle, children }: Props<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <ErrorPanel error={query.error} title={errorTitle} onRetry={() => void query.refetch()} />
  return <Loading>{skeleton}</Loading>
}

/** Announces a skeleton to screen readers. */
export function Loading({ children }: { children: ReactNode }) {
  return (
    <div role="status" aria-busy="true" aria-label="Loading">
      {children}
    </div>
  )
}

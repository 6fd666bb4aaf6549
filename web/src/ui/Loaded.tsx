import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { EmptyState } from './EmptyState'
import { ErrorPanel, errorDisplay } from './ErrorPanel'
import { sentence } from './format'
import { Link } from './Link'
import { withCode } from './with-code'

/** The part of a query that rendering needs. */
export type LoadedQuery<T> = { data: T | undefined; error: unknown; refetch: () => unknown }
type Props<T> = {
  query: LoadedQuery<T>
  skeleton: ReactNode
  errorTitle?: string
  /** Where to go on if what the address names does not exist. */
  list?: { href: string; label: string }
  children: (data: T) => ReactNode
}

/** Shows a skeleton, an error with a retry button, or the data. Loaded data stays visible when a later refresh fails. */
export function Loaded<T>({ query, skeleton, errorTitle, list, children }: Props<T>) {
  if (query.data !== undefined) return children(query.data)
  if (list && isMissing(query.error)) {
    const actions = (
      <Button component={Link} href={list.href} variant="default">
        {list.label}
      </Button>
    )
    return (
      <EmptyState title="Not found" actions={actions}>
        {withCode(sentence(errorDisplay(query.error).message))}
      </EmptyState>
    )
  }
  if (query.error) return <ErrorPanel error={query.error} title={errorTitle} onRetry={() => void query.refetch()} />
  return <Loading>{skeleton}</Loading>
}

const isMissing = (error: unknown) => (error as { status?: unknown } | null)?.status === 404

/** Announces a skeleton to screen readers. */
export function Loading({ children }: { children: ReactNode }) {
  return (
    <div role="status" aria-busy="true" aria-label="Loading">
      {children}
    </div>
  )
}

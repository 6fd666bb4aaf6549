import { IconLock } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useSessionContext } from '../api/session'
import { EmptyState } from '../ui/EmptyState'
import { PageHeader } from '../ui/PageHeader'

/** Shows a page to the operator only, so that others never send requests that would be rejected. */
export function OperatorsOnly({ title, children }: { title: string; children: ReactNode }) {
  const { isOperator } = useSessionContext()
  if (isOperator) return children
  return (
    <>
      <PageHeader title={title} />
      <EmptyState title="This page is for the operator" icon={<IconLock size={32} />}>
        The operator runs this installation of Forebay. Models and prices that you can use are in the Model Library.
      </EmptyState>
    </>
  )
}

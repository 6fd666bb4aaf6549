import { IconLock } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useSessionContext } from '../api/session'
import { EmptyState } from '../ui/EmptyState'

/** Shows its content to administrators only, so that members never send requests that would be rejected. */
export function AdminsOnly({ what, children }: { what: string; children: ReactNode }) {
  const { isAdmin, organization } = useSessionContext()
  if (isAdmin) return children
  return (
    <EmptyState title={`${what} is for administrators`} icon={<IconLock size={32} />}>
      Ask an administrator of {organization?.name ?? 'the organization'} if you need to see it.
    </EmptyState>
  )
}

import { IconLock } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { usePlace } from '../api/session'
import { EmptyState } from '../ui/EmptyState'

/** What members would be refused is not asked for: they are told whom to ask instead. */
export function AdminsOnly({ what, children }: { what: string; children: ReactNode }) {
  const { isAdmin, organization } = usePlace()
  if (isAdmin) return children
  return (
    <EmptyState title={`${what} is for administrators`} icon={<IconLock size={32} />}>
      Ask an administrator of {organization?.name ?? 'the organization'} if you need to see it.
    </EmptyState>
  )
}

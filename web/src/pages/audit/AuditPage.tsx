import { Button } from '@mantine/core'
import { IconFilterOff, IconHistory } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { auditExport, auditQuery } from '../../api/audit'
import { useOrganization, useSessionContext } from '../../api/session'
import { AdminsOnly } from '../../app/AdminsOnly'
import { DownloadLink } from '../../ui/DownloadLink'
import { EmptyState } from '../../ui/EmptyState'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { TableSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { AuditFilters } from './AuditFilters'
import { AuditTable } from './AuditTable'
import { EntryDrawer } from './EntryDrawer'
import { type AuditFilterValues, FILTERS, filterOf, isFiltered } from './entries'

export function AuditPage() {
  const organization = useOrganization()
  const { isAdmin, isOperator } = useSessionContext()
  const [filters, change] = useFilters(FILTERS)
  const isPlatform = isOperator && filters.scope === 'platform'
  const organizationId = isPlatform ? undefined : organization.id
  return (
    <>
      <PageHeader
        title="Audit log"
        description={isPlatform ? 'Changes on the whole platform' : `Changes in ${organization.name}`}
        actions={
          isAdmin ? (
            <DownloadLink href={auditExport(organizationId, filterOf(filters))}>Export JSONL</DownloadLink>
          ) : null
        }
      />
      <AdminsOnly what="The audit log">
        <AuditFilters filters={filters} change={change} />
        <Entries organizationId={organizationId} filters={filters} change={change} />
      </AdminsOnly>
    </>
  )
}

type EntriesProps = {
  organizationId: string | undefined
  filters: AuditFilterValues
  change: (changed: Partial<AuditFilterValues>) => void
}

function Entries({ organizationId, filters, change }: EntriesProps) {
  const entries = useInfiniteQuery(auditQuery(organizationId, filterOf(filters)))
  const clear = () => change({ actor: '', action: '', subject: '', from: '', to: '' })
  return (
    <Loaded query={entries} skeleton={<TableSkeleton rows={10} />} errorTitle="The audit log could not be loaded">
      {({ pages }) => {
        const all = pages.flatMap((page) => page.data)
        if (all.length === 0) return isFiltered(filters) ? <NoMatches onClear={clear} /> : <NoEntries />
        return (
          <>
            <AuditTable
              entries={{
                rows: all,
                hasMore: entries.hasNextPage,
                isLoading: entries.isFetchingNextPage,
                label: 'Load older entries',
                onMore: () => void entries.fetchNextPage(),
              }}
              onOpen={(entry) => change({ entry })}
            />
            <EntryDrawer
              entry={all.find((one) => one.id === filters.entry)}
              onClose={() => change({ entry: '' })}
              onSubject={(subject) => change({ subject, entry: '' })}
            />
          </>
        )
      }}
    </Loaded>
  )
}

function NoEntries() {
  return (
    <EmptyState title="No changes yet" icon={<IconHistory size={32} />}>
      Every change to keys, members, limits and endpoints is recorded here.
    </EmptyState>
  )
}

function NoMatches({ onClear }: { onClear: () => void }) {
  const actions = (
    <Button variant="default" onClick={onClear}>
      Clear filters
    </Button>
  )
  return (
    <EmptyState title="No entry matches" icon={<IconFilterOff size={32} />} actions={actions}>
      Try a longer time range, or remove a filter.
    </EmptyState>
  )
}

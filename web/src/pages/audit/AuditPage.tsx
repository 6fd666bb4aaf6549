import { Button, Center } from '@mantine/core'
import { IconFilterOff, IconHistory } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { auditExport, auditQuery } from '../../api/audit'
import { useOrganization, usePlace } from '../../api/session'
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
import { type Chosen, FILTERS, filterOf, isFiltered } from './entries'

export function AuditPage() {
  const organization = useOrganization()
  const { isAdmin, isOperator } = usePlace()
  const [chosen, change] = useFilters(FILTERS)
  const isPlatform = isOperator && chosen.scope === 'platform'
  const of = isPlatform ? undefined : organization.id
  return (
    <>
      <PageHeader
        title="Audit log"
        description={isPlatform ? 'Who changed what on the whole platform' : `Who changed what in ${organization.name}`}
        actions={isAdmin ? <DownloadLink href={auditExport(of, filterOf(chosen))}>Export JSONL</DownloadLink> : null}
      />
      <AdminsOnly what="The audit log">
        <AuditFilters chosen={chosen} change={change} />
        <Entries organizationId={of} chosen={chosen} change={change} />
      </AdminsOnly>
    </>
  )
}

type EntriesProps = { organizationId: string | undefined; chosen: Chosen; change: (wish: Partial<Chosen>) => void }

function Entries({ organizationId, chosen, change }: EntriesProps) {
  const entries = useInfiniteQuery(auditQuery(organizationId, filterOf(chosen)))
  const clear = () => change({ actor: '', action: '', subject: '', from: '', to: '' })
  return (
    <Loaded query={entries} skeleton={<TableSkeleton rows={10} />} errorTitle="The audit log could not be loaded">
      {({ pages }) => {
        const all = pages.flatMap((page) => page.data)
        if (all.length === 0) return isFiltered(chosen) ? <NothingFound onClear={clear} /> : <NothingYet />
        return (
          <>
            <AuditTable entries={all} onOpen={(entry) => change({ entry })} />
            {entries.hasNextPage ? (
              <Center mt="md">
                <Button
                  variant="default"
                  loading={entries.isFetchingNextPage}
                  onClick={() => void entries.fetchNextPage()}
                >
                  Load older entries
                </Button>
              </Center>
            ) : null}
            <EntryDrawer
              entry={all.find((one) => one.id === chosen.entry)}
              onClose={() => change({ entry: '' })}
              onSubject={(subject) => change({ subject, entry: '' })}
            />
          </>
        )
      }}
    </Loaded>
  )
}

function NothingYet() {
  return (
    <EmptyState title="Nothing has been changed yet" icon={<IconHistory size={32} />}>
      Every change of keys, people, limits and endpoints leaves an entry here.
    </EmptyState>
  )
}

function NothingFound({ onClear }: { onClear: () => void }) {
  const actions = (
    <Button variant="default" onClick={onClear}>
      Clear filters
    </Button>
  )
  return (
    <EmptyState title="No entry matches" icon={<IconFilterOff size={32} />} actions={actions}>
      Try a longer time, or take a filter away.
    </EmptyState>
  )
}

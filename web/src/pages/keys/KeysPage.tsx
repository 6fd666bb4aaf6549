import { Button, Group, SegmentedControl } from '@mantine/core'
import { IconFilterOff, IconKey, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { type Key, keyCountsQuery, keyTableQuery, POLL_MS } from '../../api/keys'
import { membersQuery } from '../../api/members'
import { useTable } from '../../api/pages'
import { polled } from '../../api/polling'
import { useOrganization, useSessionContext, useWorkspace } from '../../api/session'
import { workspaceQuery } from '../../api/workspaces'
import { ActionButton } from '../../ui/ActionButton'
import { EmptyState } from '../../ui/EmptyState'
import { FilterSelect } from '../../ui/FilterSelect'
import { oneOf, text } from '../../ui/filters'
import { formatCount } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { SearchField } from '../../ui/SearchField'
import { TableSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { CreateKey } from './CreateKey'
import { creatorOptions, selectionOf } from './creators'
import { EditKey } from './EditKey'
import { KeyLimit } from './KeyLimit'
import { KeysTable } from './KeysTable'
import { countOf } from './key-can'
import { RevokeKey } from './RevokeKey'
import { RevokeMany } from './RevokeMany'
import { RotateKey } from './RotateKey'

const SORTS = [
  '-createdAt',
  'createdAt',
  'name',
  '-name',
  'lastUsedAt',
  '-lastUsedAt',
  'expiresAt',
  '-expiresAt',
] as const
const FILTERS = { show: oneOf(['usable', 'all']), creator: text(), q: text(), sort: oneOf(SORTS) }

export type OpenDialog =
  | { kind: 'create' | 'revoke-many' }
  | { kind: 'edit' | 'rotate' | 'revoke'; key: Key }
  | undefined

export function KeysPage() {
  const workspace = useWorkspace()
  const organization = useOrganization()
  const { isAdmin } = useSessionContext()
  const [{ show, creator, q, sort }, change] = useFilters(FILTERS)
  const selection = selectionOf(show, creator)
  const keys = useTable(keyTableQuery(workspace.id, selection, { search: q, sort }), polled(POLL_MS))
  const counts = useQuery(keyCountsQuery(workspace.id))
  const members = useQuery(membersQuery(organization.id))
  const limits = useQuery(workspaceQuery(workspace.id))
  const [dialog, openDialog] = useState<OpenDialog>()
  const search = useCallback((typed: string) => change({ q: typed }), [change])
  const close = () => openDialog(undefined)

  const limit = limits.data?.maxApiKeys
  const isFull = limit !== undefined && counts.data !== undefined && counts.data.counted >= limit
  const create = (
    <ActionButton
      leftSection={<IconPlus size={16} />}
      disabledReason={
        isFull ? `This workspace has reached its limit of ${formatCount(limit)} keys; revoke one first` : undefined
      }
      onClick={() => openDialog({ kind: 'create' })}
    >
      Create key
    </ActionButton>
  )
  return (
    <>
      <PageHeader
        title="API keys"
        description={`Programs use keys to call models in ${workspace.name}`}
        actions={create}
      />
      <Loaded query={keys} skeleton={<TableSkeleton />} errorTitle="The keys could not be loaded">
        {(table) => {
          if (counts.data?.all === 0) return <NoKeys create={create} />
          return (
            <>
              <KeyLimit counted={counts.data?.counted} limit={limit}>
                <Group gap="sm">
                  <SegmentedControl
                    aria-label="Keys shown"
                    data={[
                      { value: 'usable', label: 'In use' },
                      { value: 'all', label: counts.data ? `All ${formatCount(counts.data.all)}` : 'All' },
                    ]}
                    value={show}
                    onChange={(value) => change({ show: value === 'all' ? 'all' : 'usable' })}
                  />
                  <SearchField label="Search keys" placeholder="Name or sk-…" value={q} onChange={search} />
                  <FilterSelect
                    label="Creator"
                    placeholder="Any creator"
                    data={creatorOptions(members.data ?? [])}
                    value={creator}
                    onChange={(value) => change({ creator: value })}
                    searchable
                  />
                  {isAdmin && creator && !q && show === 'usable' && table.total ? (
                    <Button
                      variant="default"
                      leftSection={<IconTrash size={16} />}
                      onClick={() => openDialog({ kind: 'revoke-many' })}
                    >
                      Revoke {countOf(table.total)}
                    </Button>
                  ) : null}
                </Group>
              </KeyLimit>
              {table.rows.length === 0 ? (
                <NoneShown isFiltered={!!creator || !!q} onAll={() => change({ show: 'all', creator: '', q: '' })} />
              ) : (
                <KeysTable
                  keys={table}
                  sort={sort}
                  onSort={(next) => change({ sort: SORTS.find((one) => one === next) ?? SORTS[0] })}
                  members={members.data}
                  workspaceId={workspace.id}
                  onOpenDialog={openDialog}
                />
              )}
            </>
          )
        }}
      </Loaded>
      <CreateKey opened={dialog?.kind === 'create'} workspaceId={workspace.id} onClose={close} />
      <EditKey apiKey={dialog?.kind === 'edit' ? dialog.key : undefined} workspaceId={workspace.id} onClose={close} />
      <RotateKey
        apiKey={dialog?.kind === 'rotate' ? dialog.key : undefined}
        workspaceId={workspace.id}
        onClose={close}
      />
      <RevokeMany
        opened={dialog?.kind === 'revoke-many'}
        selection={selection}
        workspaceId={workspace.id}
        onClose={close}
      />
      <RevokeKey
        apiKey={dialog?.kind === 'revoke' ? dialog.key : undefined}
        workspaceId={workspace.id}
        onClose={close}
      />
    </>
  )
}

function NoKeys({ create }: { create: React.ReactNode }) {
  return (
    <EmptyState title="No keys yet" icon={<IconKey size={32} />} actions={create}>
      Create a separate key for each program, so that each can be limited, monitored and revoked individually.
    </EmptyState>
  )
}

function NoneShown({ isFiltered, onAll }: { isFiltered: boolean; onAll: () => void }) {
  const actions = (
    <Button variant="default" onClick={onAll}>
      Show all keys
    </Button>
  )
  return (
    <EmptyState
      title={isFiltered ? 'No matching keys' : 'No keys in use'}
      icon={<IconFilterOff size={32} />}
      actions={actions}
    >
      {isFiltered
        ? 'No key in use matches. Show all keys to see the others.'
        : 'All keys have been revoked or have expired. Create a new one, or show all keys.'}
    </EmptyState>
  )
}

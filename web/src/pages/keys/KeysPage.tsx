import { Button, Group, SegmentedControl, Tooltip } from '@mantine/core'
import { IconFilterOff, IconKey, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { usageQuery } from '../../api/costs'
import { type Key, keysQuery } from '../../api/keys'
import { membersQuery } from '../../api/members'
import { useOrganization, useSessionContext, useWorkspace } from '../../api/session'
import { workspaceQuery } from '../../api/workspaces'
import { EmptyState } from '../../ui/EmptyState'
import { FilterSelect } from '../../ui/FilterSelect'
import { oneOf, text } from '../../ui/filters'
import { formatCount } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { monthOf, spanOf } from '../../ui/months'
import { PageHeader } from '../../ui/PageHeader'
import { TableSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { CreateKey } from './CreateKey'
import { byCreator, creatorOptions } from './creators'
import { EditKey } from './EditKey'
import { KeyLimit } from './KeyLimit'
import { KeysTable } from './KeysTable'
import { countedKeys, countOf } from './key-can'
import { RevokeKey } from './RevokeKey'
import { RevokeMany } from './RevokeMany'
import { RotateKey } from './RotateKey'

const FILTERS = { show: oneOf(['usable', 'all']), creator: text() }

export type OpenDialog =
  | { kind: 'create' }
  | { kind: 'revoke-many'; keys: Key[] }
  | { kind: 'edit' | 'rotate' | 'revoke'; key: Key }
  | undefined

export function KeysPage() {
  const workspace = useWorkspace()
  const organization = useOrganization()
  const { isAdmin } = useSessionContext()
  const keys = useQuery(keysQuery(workspace.id))
  const members = useQuery(membersQuery(organization.id))
  const limits = useQuery(workspaceQuery(workspace.id))
  const usage = useQuery(usageQuery(workspace.id, spanOf(monthOf(Date.now())), 'key'))
  const [{ show, creator }, change] = useFilters(FILTERS)
  const [dialog, openDialog] = useState<OpenDialog>()
  const close = () => openDialog(undefined)

  const limit = limits.data?.maxApiKeys
  const counted = countedKeys(keys.data ?? [])
  const isFull = limit !== undefined && keys.data !== undefined && counted >= limit
  const create = (
    <Tooltip
      label={`This workspace has reached its limit of ${formatCount(limit ?? 0)} keys; revoke one first`}
      disabled={!isFull}
    >
      <Button
        leftSection={<IconPlus size={16} />}
        data-disabled={isFull || undefined}
        onClick={() => isFull || openDialog({ kind: 'create' })}
      >
        Create key
      </Button>
    </Tooltip>
  )
  return (
    <>
      <PageHeader
        title="API keys"
        description={`Programs use keys to call models in ${workspace.name}`}
        actions={create}
      />
      <Loaded query={keys} skeleton={<TableSkeleton />} errorTitle="The keys could not be loaded">
        {(all) => {
          if (all.length === 0) return <NoKeys create={create} />
          const inState = show === 'all' ? all : all.filter(({ state }) => state === 'active' || state === 'disabled')
          const shown = members.data ? byCreator(inState, creator, members.data) : inState
          const unrevoked = shown.filter(({ state }) => state !== 'revoked')
          return (
            <>
              <KeyLimit counted={counted} limit={limit}>
                <Group gap="sm">
                  <SegmentedControl
                    aria-label="Keys shown"
                    data={[
                      { value: 'usable', label: 'In use' },
                      { value: 'all', label: `All ${formatCount(all.length)}` },
                    ]}
                    value={show}
                    onChange={(value) => change({ show: value === 'all' ? 'all' : 'usable' })}
                  />
                  <FilterSelect
                    label="Creator"
                    placeholder="Any creator"
                    data={creatorOptions(all, members.data ?? [])}
                    value={creator}
                    onChange={(value) => change({ creator: value })}
                    searchable
                  />
                  {isAdmin && creator && unrevoked.length > 0 ? (
                    <Button
                      variant="default"
                      leftSection={<IconTrash size={16} />}
                      onClick={() => openDialog({ kind: 'revoke-many', keys: unrevoked })}
                    >
                      Revoke {countOf(unrevoked.length)}
                    </Button>
                  ) : null}
                </Group>
              </KeyLimit>
              {shown.length === 0 ? (
                <NoneShown isFiltered={!!creator} onAll={() => change({ show: 'all', creator: '' })} />
              ) : (
                <KeysTable
                  keys={shown}
                  members={members.data}
                  usage={usage.data?.data}
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
        keys={dialog?.kind === 'revoke-many' ? dialog.keys : []}
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
        ? 'This creator has no keys in use. Show all keys to see the others.'
        : 'All keys have been revoked or have expired. Create a new one, or show all keys.'}
    </EmptyState>
  )
}

import { Button, Code, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Alias, workspaceAliasesQuery } from '../../../api/aliases'
import { type Column, DataTable } from '../../../ui/DataTable'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { AliasForm } from './AliasForm'
import { DeleteAlias } from './DeleteAlias'

type Props = { workspaceId: string; isAdmin: boolean }

/** Aliases of the workspace; administrators change them. */
export function AliasesPanel({ workspaceId, isAdmin }: Props) {
  const aliases = useQuery(workspaceAliasesQuery(workspaceId))
  const [deleted, setDeleted] = useState<Alias>()
  return (
    <Panel
      title="Aliases"
      description="Further names of models, for agents that know only some names. A name may end with * to match all names that begin with it"
    >
      <Stack gap="md">
        <Loaded query={aliases} skeleton={<TableSkeleton rows={2} />} errorTitle="The aliases could not be loaded">
          {(all) =>
            all.length === 0 ? (
              <Text size="sm" c="dimmed">
                This workspace has no aliases of its own.
              </Text>
            ) : (
              <DataTable
                caption="Aliases of this workspace"
                columns={columns(isAdmin ? setDeleted : undefined)}
                rows={all}
                rowKey={(one) => one.name}
                minWidth={420}
              />
            )
          }
        </Loaded>
        {isAdmin ? <AliasForm workspaceId={workspaceId} existing={aliases.data ?? []} /> : null}
      </Stack>
      <DeleteAlias workspaceId={workspaceId} alias={deleted} onClose={() => setDeleted(undefined)} />
    </Panel>
  )
}

function columns(onDelete: ((alias: Alias) => void) | undefined): Column<Alias>[] {
  const name = (text: string) => <Code style={{ overflowWrap: 'anywhere' }}>{text}</Code>
  const shown: Column<Alias>[] = [
    { id: 'name', header: 'Name', cell: (one) => name(one.name) },
    { id: 'model', header: 'Model', cell: (one) => name(one.model) },
  ]
  if (!onDelete) return shown
  const actions: Column<Alias> = {
    id: 'actions',
    header: 'Actions',
    isActions: true,
    cell: (one) => (
      <Button size="compact-sm" variant="default" aria-label={`Delete ${one.name}`} onClick={() => onDelete(one)}>
        Delete
      </Button>
    ),
  }
  return [...shown, actions]
}

import { Stack } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { deleteAlias, refreshAliases, workspaceAliasesQuery } from '../../../api/aliases'
import { AliasTable } from '../../../ui/AliasTable'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { AliasForm } from './AliasForm'

type Props = { workspaceId: string; isAdmin: boolean }

/** Aliases of the workspace; administrators change them. */
export function AliasesPanel({ workspaceId, isAdmin }: Props) {
  const queries = useQueryClient()
  const aliases = useQuery(workspaceAliasesQuery(workspaceId))
  return (
    <Panel
      title="Aliases"
      description="Other names of models, for agents that know only some names. A name may end with * to match all names that begin with it"
    >
      <Stack gap="md">
        <Loaded query={aliases} skeleton={<TableSkeleton rows={2} />} errorTitle="The aliases could not be loaded">
          {(all) => (
            <AliasTable
              caption="Aliases of this workspace"
              empty="This workspace has no aliases of its own."
              aliases={all}
              isWritable={() => isAdmin}
              remove={({ name }) => deleteAlias(workspaceId, name).finally(() => refreshAliases(queries, workspaceId))}
            />
          )}
        </Loaded>
        {isAdmin ? <AliasForm workspaceId={workspaceId} existing={aliases.data ?? []} /> : null}
      </Stack>
    </Panel>
  )
}

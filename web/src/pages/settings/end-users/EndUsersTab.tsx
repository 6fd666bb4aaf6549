import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSessionContext, useWorkspace } from '../../../api/session'
import { workspaceQuery } from '../../../api/workspaces'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { PanelSkeleton } from '../../../ui/Skeletons'
import { DefaultsForm } from './DefaultsForm'
import { EndUserTable } from './EndUserTable'
import { limitsText } from './end-user-values'

/** The people behind the keys: what applies to all of them, and to each. */
export function EndUsersTab() {
  const { id } = useWorkspace()
  const { isAdmin } = useSessionContext()
  const workspace = useQuery(workspaceQuery(id))
  return (
    <Stack gap="md">
      <Loaded query={workspace} skeleton={<PanelSkeleton height={160} />} errorTitle="The settings could not be loaded">
        {(one) => (
          <Panel
            title="For each end user"
            description="Defaults for end users without limits of their own, including new ones"
          >
            {isAdmin ? (
              <DefaultsForm key={`${one.id} ${one.version}`} workspace={one} />
            ) : (
              (limitsText(one.endUsers) ?? 'No limits')
            )}
          </Panel>
        )}
      </Loaded>
      <EndUserTable workspaceId={id} isAdmin={isAdmin} />
    </Stack>
  )
}

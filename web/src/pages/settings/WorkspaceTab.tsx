import { Stack } from '@mantine/core'
import { IconLayoutGrid } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { costsQuery } from '../../api/costs'
import { polled } from '../../api/polling'
import { useSessionContext } from '../../api/session'
import { quotaQuery, workspaceQuery } from '../../api/workspaces'
import { EmptyState } from '../../ui/EmptyState'
import { Loaded } from '../../ui/Loaded'
import { monthOf } from '../../ui/months'
import { Panel } from '../../ui/Panel'
import { PanelSkeleton } from '../../ui/Skeletons'
import { MonthlyBudgetPanel } from '../costs/MonthlyBudgetPanel'
import { AliasesPanel } from './aliases/AliasesPanel'
import { LimitsForm } from './LimitsForm'
import { LimitsView } from './LimitsView'
import { RemainingQuotaPanel } from './RemainingQuotaPanel'
import { StoredResponsesPanel } from './StoredResponsesPanel'

const QUOTA_POLL_MS = 10_000

export function WorkspaceTab() {
  const { workspace } = useSessionContext()
  if (workspace) return <WorkspaceLimits workspaceId={workspace.id} />
  return (
    <EmptyState title="No workspace selected" icon={<IconLayoutGrid size={32} />}>
      Limits belong to a workspace. Choose one at the top of the navigation.
    </EmptyState>
  )
}

function WorkspaceLimits({ workspaceId }: { workspaceId: string }) {
  const { isAdmin, isOperator } = useSessionContext()
  const workspace = useQuery(workspaceQuery(workspaceId))
  const costs = useQuery(costsQuery(workspaceId, monthOf(Date.now())))
  const quota = useQuery({ ...quotaQuery(workspaceId), ...polled(QUOTA_POLL_MS) })
  return (
    <Stack gap="md">
      <Loaded query={quota} skeleton={<PanelSkeleton height={60} />} errorTitle="The quota could not be loaded">
        {(data) => <RemainingQuotaPanel quota={data} />}
      </Loaded>
      {costs.data?.budget ? <MonthlyBudgetPanel budget={costs.data.budget} /> : null}
      <Loaded query={workspace} skeleton={<PanelSkeleton height={240} />} errorTitle="The limits could not be loaded">
        {(data) => (
          <Stack gap="md">
            <Panel
              title="Limits"
              description={
                isOperator
                  ? 'You are the operator: you may also raise them above the platform default'
                  : isAdmin
                    ? 'You can lower them; only the operator can raise them above the platform default'
                    : 'Only administrators of the organization can change them'
              }
            >
              {isAdmin ? (
                <LimitsForm key={data.id} workspace={data} isOperator={isOperator} />
              ) : (
                <LimitsView workspace={data} />
              )}
            </Panel>
            <StoredResponsesPanel key={data.id} workspace={data} isAdmin={isAdmin} />
          </Stack>
        )}
      </Loaded>
      <AliasesPanel workspaceId={workspaceId} isAdmin={isAdmin} />
    </Stack>
  )
}

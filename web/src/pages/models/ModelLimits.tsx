import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Model } from '../../api/models'
import { quotaQuery } from '../../api/workspaces'
import { formatCompact, formatCount, formatDay } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'

type Props = { model: Model; workspace: { id: string; name: string } }

/** Context length of the model, and the limits of the workspace. */
export function ModelLimits({ model, workspace }: Props) {
  const quota = useQuery(quotaQuery(workspace.id))
  return (
    <Panel title="Limits" description={`Rate limits and quota are shared by all calls of ${workspace.name}`}>
      <Loaded query={quota} skeleton={<Skeleton h={48} />} errorTitle="The limits could not be loaded">
        {({ perMinute, scope, cap, used, resetsAt }) => (
          <Stats>
            <Stat label="Context" value={formatCount(model.context_length)} note="tokens" />
            <Stat label="Requests" value={formatCount(perMinute.requests.limit)} note="per minute" />
            <Stat label="Tokens" value={formatCount(perMinute.tokens.limit)} note="per minute" />
            <Stat
              label={scope === 'organization' ? "Organization's monthly quota" : 'Monthly quota'}
              value={formatCount(cap)}
              note={`${formatCompact(used)} used, resets ${formatDay(resetsAt)}`}
            />
          </Stats>
        )}
      </Loaded>
    </Panel>
  )
}

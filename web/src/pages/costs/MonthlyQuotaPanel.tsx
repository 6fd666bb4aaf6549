import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Quota, quotaQuery } from '../../api/workspaces'
import { formatCount, formatDay, formatShare } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { Time } from '../../ui/Time'
import { UseBar } from '../../ui/UseBar'
import { shareOf } from '../../ui/use-share'

/** Tokens used of the monthly quota, and when it resets. */
export function MonthlyQuotaPanel({ workspaceId }: { workspaceId: string }) {
  const quota = useQuery(quotaQuery(workspaceId))
  return (
    <Panel title="Monthly token quota" description="For serverless models; dedicated endpoints do not count towards it">
      <Loaded query={quota} skeleton={<Skeleton h={40} />} errorTitle="The quota could not be loaded">
        {(quota) => <QuotaBar quota={quota} />}
      </Loaded>
    </Panel>
  )
}

/** The bar of the monthly quota. */
export function QuotaBar({ quota }: { quota: Quota }) {
  const { scope, cap, used, reserved, resetsAt } = quota
  const share = shareOf(used, cap)
  const parts = [
    `${formatCount(used)} of ${formatCount(cap)} tokens used (${formatShare(share)})`,
    reserved ? `${formatCount(reserved)} reserved` : '',
    scope === 'organization' ? 'by all workspaces of the organization' : '',
  ]
  return (
    <UseBar
      label="Monthly token quota"
      share={share}
      used={parts.filter(Boolean).join(', ')}
      note={
        <>
          Resets on {formatDay(resetsAt)}, 00:00 UTC (<Time value={resetsAt} />)
        </>
      }
      reached={
        share >= 1
          ? 'Calls to serverless models are rejected with quota_exceeded until then. Dedicated endpoints keep working.'
          : undefined
      }
    />
  )
}

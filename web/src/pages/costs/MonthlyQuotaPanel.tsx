import { Group, Progress, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { quotaQuery } from '../../api/workspaces'
import { formatCount, formatDay, formatShare } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { Time } from '../../ui/Time'

/** Share from which the bar warns. */
const WARN_SHARE = 0.8
/** Minimum width in percent, so that any usage is visible. */
const MIN_PERCENT = 0.5

/** Tokens used of the monthly quota, and when it resets. */
export function MonthlyQuotaPanel({ workspaceId }: { workspaceId: string }) {
  const quota = useQuery(quotaQuery(workspaceId))
  return (
    <Panel title="Monthly token quota" description="For serverless models; dedicated endpoints do not count towards it">
      <Loaded query={quota} skeleton={<Skeleton h={40} />} errorTitle="The quota could not be loaded">
        {({ scope, cap, used, reserved, resetsAt }) => {
          const share = cap ? used / cap : 1
          return (
            <>
              <Progress.Root size="lg" aria-label="Monthly token quota">
                <Progress.Section
                  value={Math.min(100, Math.max(share * 100, used ? MIN_PERCENT : 0))}
                  color={share >= 1 ? 'red' : share >= WARN_SHARE ? 'orange' : 'brand'}
                  aria-label={`${formatShare(share)} used`}
                />
              </Progress.Root>
              <Group justify="space-between" mt={6} gap="xs">
                <Text size="sm">
                  {formatCount(used)} of {formatCount(cap)} tokens used ({formatShare(share)})
                  {reserved ? `, ${formatCount(reserved)} reserved` : ''}
                  {scope === 'organization' ? ', by all workspaces of the organization' : ''}
                </Text>
                <Text size="sm" c="dimmed">
                  Resets on {formatDay(resetsAt)}, 00:00 UTC (<Time value={resetsAt} />)
                </Text>
              </Group>
              {share >= 1 ? (
                <Text size="sm" mt={4} c="var(--fb-bad)">
                  Calls to serverless models are rejected with quota_exceeded until then. Dedicated endpoints keep
                  working.
                </Text>
              ) : null}
            </>
          )
        }}
      </Loaded>
    </Panel>
  )
}

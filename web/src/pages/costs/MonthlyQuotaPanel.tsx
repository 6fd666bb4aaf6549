import { Group, Progress, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { quotaQuery } from '../../api/workspaces'
import { formatCompact, formatCount, formatDay, formatShare } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { Time } from '../../ui/Time'

const NEARLY = 0.8
/** Of a hundred: so that a start is seen. */
const LEAST_SHOWN = 0.5

/** How much of the month's tokens is gone, and when they come back. */
export function MonthlyQuotaPanel({ workspaceId }: { workspaceId: string }) {
  const quota = useQuery(quotaQuery(workspaceId))
  return (
    <Panel title="Monthly token quota" description="For serverless models; dedicated endpoints do not count">
      <Loaded query={quota} skeleton={<Skeleton h={40} />} errorTitle="The quota could not be loaded">
        {({ cap, used, reserved, resetsAt }) => {
          const part = cap ? used / cap : 1
          return (
            <>
              <Progress.Root size="lg" aria-label="Monthly token quota">
                <Progress.Section
                  value={Math.min(100, Math.max(part * 100, used ? LEAST_SHOWN : 0))}
                  color={part >= 1 ? 'red' : part >= NEARLY ? 'orange' : 'brand'}
                  aria-label={`${formatShare(part)} used`}
                />
              </Progress.Root>
              <Group justify="space-between" mt={6} gap="xs">
                <Text size="sm">
                  {formatCount(used)} of {formatCompact(cap)} tokens used ({formatShare(part)})
                  {reserved ? `, ${formatCompact(reserved)} set aside for calls and nodes` : ''}
                </Text>
                <Text size="sm" c="dimmed">
                  Starts anew on {formatDay(resetsAt)}, 00:00 UTC (<Time value={resetsAt} />)
                </Text>
              </Group>
              {part >= 1 ? (
                <Text size="sm" mt={4} c="var(--fb-bad)">
                  Calls to serverless models are refused with quota_exceeded until then. Dedicated endpoints go on.
                </Text>
              ) : null}
            </>
          )
        }}
      </Loaded>
    </Panel>
  )
}

import { Progress, Text } from '@mantine/core'
import type { Schemas } from '../../api/client'
import { formatCount, formatDay, formatShare } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'

/** Share from which the bar warns. */
const WARN_SHARE = 0.8

/** Remaining monthly quota, and remaining requests and tokens in this minute. */
export function RemainingQuotaPanel({ quota }: { quota: Schemas['Quota'] }) {
  const { scope, cap, used, reserved, resetsAt, perMinute } = quota
  const share = cap > 0 ? used / cap : 1
  const tone = share >= 1 ? 'var(--fb-bad)' : share >= WARN_SHARE ? 'var(--fb-warn)' : 'var(--fb-busy)'
  return (
    <Panel title="Quota" description={`Resets on ${formatDay(resetsAt)}`}>
      <Progress.Root size="lg" mb={6}>
        <Progress.Section
          value={Math.min(100, Math.max(share * 100, used ? 0.5 : 0))}
          color={tone}
          aria-label={`${formatShare(share)} of the monthly quota is used`}
        />
      </Progress.Root>
      <Text size="sm" c="dimmed" mb="md">
        {formatCount(used)} of {formatCount(cap)} tokens used this month ({formatShare(share)})
        {reserved > 0 ? `, ${formatCount(reserved)} reserved` : ''}
        {scope === 'organization' ? ', by all workspaces of the organization' : ''}
      </Text>
      <Stats>
        <Stat label="Left this month" value={formatCount(Math.max(0, cap - used))} note="tokens" />
        <Stat
          label="Requests left this minute"
          value={formatCount(perMinute.requests.remaining)}
          note={`of ${formatCount(perMinute.requests.limit)}`}
        />
        <Stat
          label="Tokens left this minute"
          value={formatCount(perMinute.tokens.remaining)}
          note={`of ${formatCount(perMinute.tokens.limit)}`}
        />
      </Stats>
    </Panel>
  )
}

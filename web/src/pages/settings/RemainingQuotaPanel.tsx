import { Stack } from '@mantine/core'
import type { Quota } from '../../api/workspaces'
import { formatCount } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'
import { QuotaBar } from '../costs/MonthlyQuotaPanel'

/** Remaining monthly quota, and remaining requests and tokens in this minute. */
export function RemainingQuotaPanel({ quota }: { quota: Quota }) {
  const { cap, used, perMinute } = quota
  return (
    <Panel title="Quota">
      <Stack gap="md">
        <QuotaBar quota={quota} />
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
      </Stack>
    </Panel>
  )
}

import { Group, Progress, Text } from '@mantine/core'
import type { Costs } from '../../api/costs'
import { formatMoney, formatShare, nanoUsd } from '../../ui/format'
import { Panel } from '../../ui/Panel'

/** Share from which the bar warns. */
const WARN_SHARE = 0.8
/** Minimum width in percent, so that any usage is visible. */
const MIN_PERCENT = 0.5

/** What was spent of the monthly budget, and what is left. */
export function MonthlyBudgetPanel({ budget }: { budget: NonNullable<Costs['budget']> }) {
  const { usd, usedUsd, reservedUsd, leftUsd, ofOrganization } = budget
  const [cap, used] = [Number(nanoUsd(usd) ?? 0n), Number(nanoUsd(usedUsd) ?? 0n)]
  const share = cap > 0 ? used / cap : 1
  return (
    <Panel
      title="Monthly budget"
      description={
        ofOrganization
          ? 'For serverless calls and GPU-hours of all workspaces of the organization'
          : 'For serverless calls and GPU-hours of this workspace'
      }
    >
      <Progress.Root size="lg" aria-label="Monthly budget">
        <Progress.Section
          value={Math.min(100, Math.max(share * 100, used ? MIN_PERCENT : 0))}
          color={share >= 1 ? 'red' : share >= WARN_SHARE ? 'orange' : 'brand'}
          aria-label={`${formatShare(share)} used`}
        />
      </Progress.Root>
      <Group justify="space-between" mt={6} gap="xs">
        <Text size="sm">
          {formatMoney(usedUsd)} of {formatMoney(usd)} used ({formatShare(share)})
          {nanoUsd(reservedUsd) ? `, ${formatMoney(reservedUsd)} reserved` : ''}
        </Text>
        <Text size="sm" c="dimmed">
          {formatMoney(leftUsd)} left this month (UTC)
        </Text>
      </Group>
      {share >= 1 ? (
        <Text size="sm" mt={4} c="var(--fb-bad)">
          Calls to serverless models are rejected with budget_exceeded, and no more GPUs can be committed. Running
          endpoints go on, unless the settings suspend them.
        </Text>
      ) : null}
    </Panel>
  )
}

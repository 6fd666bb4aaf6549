import { Group, Progress, Stack, Text } from '@mantine/core'
import type { BudgetSpending } from '../../api/keys'
import { formatDay, formatMoney, formatShare, nanoUsd } from '../../ui/format'
import { usedShare, windowLabel } from './budgets'

/** Share from which the bar warns. */
const WARN_SHARE = 0.8
/** Minimum width in percent, so that any usage is visible. */
const MIN_PERCENT = 0.5

/** What was spent of each budget, as bars. */
export function BudgetBars({ spending }: { spending: BudgetSpending[] }) {
  return (
    <Stack gap="md">
      {spending.map((one) => (
        <BudgetBar key={`${one.window} ${one.soft}`} spending={one} />
      ))}
    </Stack>
  )
}

function BudgetBar({ spending }: { spending: BudgetSpending }) {
  const { window, soft, usd, usedUsd, reservedUsd, exceeded, resetsAt } = spending
  const share = usedShare(spending)
  const name = soft ? `${windowLabel(window)}, soft` : windowLabel(window)
  const color = share >= 1 ? 'red' : share >= WARN_SHARE ? 'orange' : 'brand'
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {name}
      </Text>
      <Progress.Root size="lg" aria-label={`Budget: ${name}`}>
        <Progress.Section
          value={Math.min(100, Math.max(share * 100, nanoUsd(usedUsd) ? MIN_PERCENT : 0))}
          color={color}
          aria-label={`${formatShare(share)} used`}
        />
      </Progress.Root>
      <Group justify="space-between" mt={6} gap="xs">
        <Text size="sm">
          {formatMoney(usedUsd)} of {formatMoney(usd)} used ({formatShare(share)})
          {nanoUsd(reservedUsd) ? `, ${formatMoney(reservedUsd)} reserved` : ''}
        </Text>
        <Text size="sm" c="dimmed">
          {resetsAt ? `Resets on ${formatDay(resetsAt)}, 00:00 UTC` : 'Does not reset'}
        </Text>
      </Group>
      {exceeded ? (
        <Text size="sm" mt={4} c={soft ? 'var(--fb-warn)' : 'var(--fb-bad)'}>
          {soft ? 'Exceeded; calls go on.' : 'Calls that cost anything are rejected with budget_exceeded.'}
        </Text>
      ) : null}
    </div>
  )
}

import { Stack, Text } from '@mantine/core'
import type { Budget, BudgetSpending } from '../../api/keys'
import { formatDay, formatMoney, formatNano, formatShare, nanoUsd } from '../../ui/format'
import { UseBar } from '../../ui/UseBar'
import { leftOfUsd, shareOfUsd } from '../../ui/use-share'
import { effectOf, raiseText, windowLabel } from './budgets'

type Props = {
  spending: BudgetSpending[]
  /** In the same order, if they may be raised. */
  budgets?: Budget[]
}

/** What was spent of each budget and what is left, as bars. */
export function BudgetBars({ spending, budgets = [] }: Props) {
  return (
    <Stack gap="md">
      {spending.map((one, index) => (
        <BudgetBar key={`${one.window} ${one.soft}`} budget={budgets[index]} spending={one} />
      ))}
    </Stack>
  )
}

function BudgetBar({ budget, spending }: { budget: Budget | undefined; spending: BudgetSpending }) {
  const { window, soft, usd, usedUsd, reservedUsd, resetsAt } = spending
  const share = shareOfUsd(usedUsd, usd)
  const name = soft ? `${windowLabel(window)}, soft` : windowLabel(window)
  const reserved = nanoUsd(reservedUsd) ? `, ${formatMoney(reservedUsd)} reserved` : ''
  const raised = budget && raiseText(budget, spending)
  const left = `${formatNano(leftOfUsd(usedUsd, usd))} left`
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {name}
      </Text>
      <UseBar
        label={`Budget: ${name}`}
        share={share}
        isSoft={soft}
        used={`${formatMoney(usedUsd)} of ${formatMoney(usd)} used (${formatShare(share)})${reserved}`}
        note={resetsAt ? `${left} until ${formatDay(resetsAt)} (UTC)` : `${left}, does not reset`}
        reached={effectOf(spending)}
      />
      {raised ? (
        <Text size="sm" c="dimmed">
          {raised}
        </Text>
      ) : null}
    </div>
  )
}

import type { Costs } from '../../api/costs'
import { formatMoney, formatShare, nanoUsd } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { UseBar } from '../../ui/UseBar'
import { shareOfUsd } from '../../ui/use-share'

/** What was spent of the monthly budget, and what is left. */
export function MonthlyBudgetPanel({ budget }: { budget: NonNullable<Costs['budget']> }) {
  const { usd, usedUsd, reservedUsd, leftUsd, ofOrganization } = budget
  const share = shareOfUsd(usedUsd, usd)
  const reserved = nanoUsd(reservedUsd) ? `, ${formatMoney(reservedUsd)} reserved` : ''
  return (
    <Panel
      title="Monthly budget"
      description={
        ofOrganization
          ? 'For serverless calls and GPU-hours of all workspaces of the organization'
          : 'For serverless calls and GPU-hours of this workspace'
      }
    >
      <UseBar
        label="Monthly budget"
        share={share}
        used={`${formatMoney(usedUsd)} of ${formatMoney(usd)} used (${formatShare(share)})${reserved}`}
        note={`${formatMoney(leftUsd)} left this month (UTC)`}
        reached={
          share >= 1
            ? 'Calls to serverless models are rejected with budget_exceeded, and no more GPUs can be committed. Running endpoints continue, unless the settings suspend them.'
            : undefined
        }
      />
    </Panel>
  )
}

import type { Workspace } from '../../api/workspaces'
import { formatCount, formatMoney } from '../../ui/format'
import { Stat, Stats } from '../../ui/Stat'
import { FIELDS } from './limits'
import { onBudgetLabel } from './on-budget'

/** Read-only view of the limits. */
export function LimitsView({ workspace }: { workspace: Workspace }) {
  return (
    <Stats>
      {FIELDS.map(({ name, label, unit }) => {
        const value = workspace[name]
        const shown =
          typeof value === 'number' ? formatCount(value) : name === 'onBudget' ? onBudgetLabel(value ?? null) : value
        const amount = name === 'monthlyUsd' && (value ? formatMoney(`${value}`) : 'No budget')
        return <Stat key={name} label={label} value={amount || shown} note={unit} />
      })}
    </Stats>
  )
}

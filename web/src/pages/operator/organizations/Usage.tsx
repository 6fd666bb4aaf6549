import type { OperatorOrganization } from '../../../api/operator/organizations'
import { formatCompact, formatCount, formatDay } from '../../../ui/format'
import { Money } from '../../../ui/Money'
import { Panel } from '../../../ui/Panel'
import { Stat, Stats } from '../../../ui/Stat'

/** Traffic and spend of an organization in this month. */
export function Usage({ organization: { usage } }: { organization: OperatorOrganization }) {
  if (!usage) return null // from a node that is not upgraded yet
  return (
    <Panel title="This month" description="Over all its workspaces; costs include GPU-hours">
      <Stats>
        <Stat label="Calls" value={formatCount(usage.requests)} />
        <Stat label="Tokens" value={formatCompact(usage.tokens)} />
        <Stat label="Cost" value={<Money usd={usage.costUsd} />} />
        <Stat label="Last used" value={usage.lastDay ? formatDay(usage.lastDay) : 'not this month'} />
      </Stats>
    </Panel>
  )
}

import { useQuery } from '@tanstack/react-query'
import { organizationUsageQuery } from '../../../api/operator/installation'
import { formatCompact, formatCount, formatDay } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Money } from '../../../ui/Money'
import { Panel } from '../../../ui/Panel'
import { PanelSkeleton } from '../../../ui/Skeletons'
import { Stat, Stats } from '../../../ui/Stat'
import { monthStart, tokensOf, usageOf } from './month-usage'

/** Traffic and spend of an organization in this month. */
export function Usage({ organizationId }: { organizationId: string }) {
  const usage = useQuery(organizationUsageQuery(organizationId, monthStart()))
  return (
    <Panel title="This month" description="Over all its workspaces; costs include GPU-hours">
      <Loaded query={usage} skeleton={<PanelSkeleton height={56} />} errorTitle="The usage could not be loaded">
        {(lines) => {
          const line = usageOf(lines, organizationId)
          return (
            <Stats>
              <Stat label="Calls" value={formatCount(line?.requests ?? 0)} />
              <Stat label="Tokens" value={formatCompact(line ? tokensOf(line) : 0)} />
              <Stat label="Cost" value={<Money usd={line?.costUsd ?? '0'} />} />
              <Stat label="Last used" value={line ? formatDay(line.lastDay) : 'not this month'} />
            </Stats>
          )
        }}
      </Loaded>
    </Panel>
  )
}

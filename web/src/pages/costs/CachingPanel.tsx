import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { usageQuery } from '../../api/costs'
import { modelsQuery } from '../../api/models'
import { formatCompact, formatNano, formatShare } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { PanelSkeleton } from '../../ui/Skeletons'
import { Stat, Stats } from '../../ui/Stat'
import { type Savings, savingsOf } from './savings'

type Props = { workspaceId: string; span: { from: string; to: string } }

/** What prompt caching saved in the month. */
export function CachingPanel({ workspaceId, span }: Props) {
  const usage = useQuery(usageQuery(workspaceId, span, 'model'))
  const models = useQuery(modelsQuery(workspaceId))
  return (
    <Panel
      title="Prompt caching"
      description="Prompt tokens that an engine had already read are billed at the price of cached input; saved at today’s prices"
    >
      <Loaded query={usage} skeleton={<PanelSkeleton height={56} />} errorTitle="The usage could not be loaded">
        {({ data }) => (
          <Loaded query={models} skeleton={<PanelSkeleton height={56} />} errorTitle="The prices could not be loaded">
            {(priced) => <SavingsStats savings={savingsOf(data, priced)} />}
          </Loaded>
        )}
      </Loaded>
    </Panel>
  )
}

function SavingsStats({ savings }: { savings: Savings }) {
  const { promptTokens, cachedTokens, savedNano } = savings
  if (promptTokens === 0) return <Text c="dimmed">No serverless calls in this month.</Text>
  return (
    <Stats>
      <Stat label="Saved" value={formatNano(savedNano)} />
      <Stat label="Cache hit rate" value={formatShare(cachedTokens / promptTokens)} note="of prompt tokens" />
      <Stat
        label="Cached prompt tokens"
        value={formatCompact(cachedTokens)}
        note={`of ${formatCompact(promptTokens)}`}
      />
    </Stats>
  )
}

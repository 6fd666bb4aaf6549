import { SegmentedControl, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Costs, usageQuery } from '../../api/costs'
import { Chart } from '../../ui/charts/Chart'
import { formatDay, formatMoney } from '../../ui/format'
import { spanOf } from '../../ui/months'
import { Panel } from '../../ui/Panel'
import { byKind, byModel } from './days'

type Grouping = 'kind' | 'model'
type Props = { costs: Costs; workspaceId: string; by: Grouping; onBy: (by: Grouping) => void }

const GROUPINGS = [
  { value: 'kind', label: 'By type' },
  { value: 'model', label: 'By model' },
]
const NANO_DIGITS = 9

/** Costs per day as a bar chart. */
export function CostsByDay({ costs, workspaceId, by, onBy }: Props) {
  const usage = useQuery({ ...usageQuery(workspaceId, spanOf(costs.month), 'day,model'), enabled: by === 'model' })
  const bars = by === 'model' ? byModel(costs, usage.data?.data ?? []) : byKind(costs)
  const isFree = costs.days.every((day) => Number(day.totalUsd) === 0)
  return (
    <Panel
      title="Cost by day"
      actions={
        <SegmentedControl
          aria-label="Group by"
          data={GROUPINGS}
          value={by}
          onChange={(value) => onBy(value as Grouping)}
        />
      }
    >
      {isFree ? (
        <Text c="dimmed" ta="center" py={90}>
          No costs in this month. Calls to models and GPU time of endpoints appear here within a minute.
        </Text>
      ) : (
        <Chart
          title="Cost by day"
          kind="bar"
          points={bars.points}
          series={bars.lines}
          formatValue={(value) => formatMoney(value.toFixed(NANO_DIGITS))}
          formatAt={(at) => formatDay(new Date(at).toISOString())}
          zone="UTC"
          height={240}
        />
      )}
    </Panel>
  )
}

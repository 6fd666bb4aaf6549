import { SegmentedControl, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Costs, usageQuery } from '../../api/costs'
import { Chart } from '../../ui/charts/Chart'
import { formatDay, formatMoney } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { byKind, byModel } from './days'
import { spanOf } from './months'

type By = 'kind' | 'model'
type Props = { costs: Costs; workspaceId: string; by: By; onBy: (by: By) => void }

const CHOICES = [
  { value: 'kind', label: 'By kind' },
  { value: 'model', label: 'By model' },
]
const NANO_DIGITS = 9

/** What each day cost. */
export function CostsByDay({ costs, workspaceId, by, onBy }: Props) {
  const usage = useQuery({ ...usageQuery(workspaceId, spanOf(costs.month), 'day,model'), enabled: by === 'model' })
  const bars = by === 'model' ? byModel(costs, usage.data?.data ?? []) : byKind(costs)
  const isFree = costs.days.every((day) => Number(day.totalUsd) === 0)
  return (
    <Panel
      title="Cost by day"
      actions={
        <SegmentedControl aria-label="Divide by" data={CHOICES} value={by} onChange={(value) => onBy(value as By)} />
      }
    >
      {isFree ? (
        <Text c="dimmed" ta="center" py={90}>
          Nothing was spent in this month. Calls to models and the GPUs of endpoints show up here within a minute.
        </Text>
      ) : (
        <Chart
          title="Cost by day"
          kind="bar"
          points={bars.points}
          series={bars.lines}
          formatValue={(value) => formatMoney(value.toFixed(NANO_DIGITS))}
          formatAt={(at) => formatDay(new Date(at).toISOString())}
          height={240}
        />
      )}
    </Panel>
  )
}

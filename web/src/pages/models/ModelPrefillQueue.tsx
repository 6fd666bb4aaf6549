import { useQuery } from '@tanstack/react-query'
import { prefillQueueQuery } from '../../api/operator/catalogue'
import { CHARTS } from '../../charts/metrics'
import { SeriesChart } from '../../charts/SeriesChart'
import { type TimeRangeName, windowOf } from '../../charts/time-range'

type Props = { modelId: string; span: TimeRangeName }

/** Prompts at each replica of the model, for operators. A model with one replica has no series and no panel. */
export function ModelPrefillQueue({ modelId, span }: Props) {
  const series = useQuery(prefillQueueQuery(modelId, windowOf({ span, from: '', to: '' })))
  if (series.isPending || series.data?.data.length === 0) return null
  return (
    <SeriesChart
      {...CHARTS.prefillQueue}
      title="Prefill queue by replica"
      description={`${CHARTS.prefillQueue.description}. Calls of all workspaces count, so only operators see it.`}
      series={series}
      hasGroups
      nameOf={(line) => line.replica ?? 'All others'}
    />
  )
}

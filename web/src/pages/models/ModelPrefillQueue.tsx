import { useQuery } from '@tanstack/react-query'
import { prefillQueueQuery } from '../../api/operator/catalogue'
import { calls, MEAN, PREFILL_QUEUE } from '../../charts/metrics'
import { SeriesChart } from '../../charts/SeriesChart'
import { type TimeRangeName, windowOf } from '../../charts/time-range'

type Props = { modelId: string; span: TimeRangeName }

/** Prompts at each replica of the model, for operators. A model with one replica has no series and no panel. */
export function ModelPrefillQueue({ modelId, span }: Props) {
  const series = useQuery(prefillQueueQuery(modelId, windowOf({ span, from: '', to: '' })))
  if (series.isPending || series.data?.data.length === 0) return null
  return (
    <SeriesChart
      {...PREFILL_QUEUE}
      title="Prefill queue by replica"
      description={`${PREFILL_QUEUE.description}. Calls of all workspaces count, so only operators see it.`}
      series={series}
      hasGroups
      members={MEAN}
      groupMember="mean"
      nameOf={(line) => line.replica ?? 'All others'}
      formatValue={calls}
    />
  )
}

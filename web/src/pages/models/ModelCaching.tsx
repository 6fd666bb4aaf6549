import type { Model } from '../../api/models'
import { MetricChart } from '../../charts/MetricChart'
import { HIT_RATE, overallHitRate, share } from '../../charts/metrics'
import { cacheHitRate } from '../../charts/shape'
import { type TimeRangeName, windowOf } from '../../charts/time-range'

type Props = { model: Model; workspaceId: string; span: TimeRangeName }

/** How much of the workspace's prompts the engines of the model had cached. */
export function ModelCaching({ model, workspaceId, span }: Props) {
  return (
    <MetricChart
      {...HIT_RATE}
      workspaceId={workspaceId}
      window={windowOf({ span, from: '', to: '' })}
      query={{ metric: 'tokens', model: model.id }}
      shape={cacheHitRate}
      formatValue={share}
      total={overallHitRate}
    />
  )
}

import type { Model } from '../../api/models'
import { MetricChart } from '../../charts/MetricChart'
import { CHARTS } from '../../charts/metrics'
import { type TimeRangeName, windowOf } from '../../charts/time-range'

type Props = { model: Model; workspaceId: string; span: TimeRangeName }

/** How much of the workspace's prompts the engines of the model had cached. */
export function ModelCaching({ model, workspaceId, span }: Props) {
  const window = windowOf({ span, from: '', to: '' })
  return <MetricChart {...CHARTS.hitRate} workspaceId={workspaceId} window={window} query={{ model: model.id }} />
}

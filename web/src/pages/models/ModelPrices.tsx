import type { Model } from '../../api/models'
import { formatPrice } from '../../ui/format'
import { Panel } from '../../ui/Panel'
import { Stat, Stats } from '../../ui/Stat'

export function ModelPrices({ model }: { model: Model }) {
  const { input_per_1m, cached_input_per_1m, output_per_1m, per_1k_searches, batch_discount, currency } = model.pricing
  return (
    <Panel title="Prices" description={`${currency} per million tokens`}>
      <Stats>
        <Stat label="Input" value={formatPrice(input_per_1m)} />
        <Stat label="Cached input" value={formatPrice(cached_input_per_1m)} />
        {model.modality !== 'chat' ? null : <Stat label="Output" value={formatPrice(output_per_1m)} />}
        {per_1k_searches ? <Stat label="1,000 rerank calls" value={formatPrice(per_1k_searches)} /> : null}
        {batch_discount ? <Stat label="Batches and flex" value={`× ${batch_discount}`} /> : null}
      </Stats>
    </Panel>
  )
}

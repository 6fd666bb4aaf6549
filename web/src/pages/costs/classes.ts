/** The parts of serverless costs by class, in words. */

import type { Costs } from '../../api/costs'
import { formatCents, nanoUsd } from '../../ui/format'

/** `including $1.20 flex, $3.40 batches`; undefined if all calls were interactive. */
export function classesText({ flexUsd, batchUsd }: Pick<Costs['classes'], 'flexUsd' | 'batchUsd'>) {
  const parts = [
    [flexUsd, 'flex'],
    [batchUsd, 'batches'],
  ].flatMap(([usd = '', name]) => (nanoUsd(usd) ? [`${formatCents(usd)} ${name}`] : []))
  return parts.length ? `including ${parts.join(', ')}` : undefined
}

/** An installation in a few numbers. */

import type { OperatorModel } from '../../../api/operator/catalogue'
import type { ErrorCount, Gpu, OperatorNode } from '../../../api/operator/nodes'

type Installation = {
  nodes: readonly OperatorNode[]
  models: readonly OperatorModel[]
  gpus: readonly Gpu[]
  errors: readonly ErrorCount[]
}

const share = (part: number, whole: number) => `${part} of ${whole}`

export function summarize({ nodes, models, gpus, errors }: Installation) {
  const ready = nodes.filter(({ alive, report }) => alive && report?.status === 'ready')
  const enabled = models.filter((model) => model.enabled)
  const used = gpus.filter(({ state }) => state === 'held' || state === 'serverless' || state === 'other')
  const living = nodes.filter(({ alive }) => alive)
  return {
    ready: share(ready.length, nodes.length),
    available: share(enabled.filter(({ status }) => status === 'available').length, enabled.length),
    used: share(used.length, gpus.length),
    calls: living.reduce((sum, { report }) => sum + (report?.callsInFlight ?? 0), 0),
    failed: errors.reduce((sum, { count }) => sum + count, 0),
  }
}

/** An installation in a few numbers. */

import type { Catalogue } from '../../../api/operator/catalogue'
import type { ErrorCount, Gpu, OperatorNode } from '../../../api/operator/nodes'
import { isMany } from '../../../charts/metrics'
import { formatCount } from '../../../ui/format'

/** Undefined is what could not be loaded. */
type Installation = {
  nodes: readonly OperatorNode[] | undefined
  models: Catalogue['models'] | undefined
  gpus: readonly Gpu[] | undefined
  errors: readonly ErrorCount[] | undefined
  /** Calls in the same time as the errors. */
  requests: number | undefined
}

const UNKNOWN = 'unknown'

/** Such as "1 of 3". */
function share<T>(all: readonly T[] | undefined, isPart: (one: T) => boolean): string {
  return all ? `${all.filter(isPart).length} of ${all.length}` : UNKNOWN
}

const sum = <T>(all: readonly T[] | undefined, of: (one: T) => number) =>
  all ? formatCount(all.reduce((total, one) => total + of(one), 0)) : UNKNOWN

export function summarize({ nodes, models, gpus, errors, requests }: Installation) {
  return {
    ready: share(nodes, ({ alive, report }) => alive && report?.status === 'ready'),
    available: models ? `${models.available} of ${models.enabled}` : UNKNOWN,
    used: share(gpus, ({ state }) => state === 'held' || state === 'serverless' || state === 'other'),
    calls: sum(nodes, ({ alive, report }) => (alive ? (report?.callsInFlight ?? 0) : 0)),
    failed: sum(errors, ({ count }) => count),
    isManyFailed: isMany(errors?.reduce((total, { count }) => total + count, 0) ?? 0, requests ?? 0),
  }
}

/** Logs as options of a select, by the node that has them. */

import type { EngineLog, LogRef } from '../../../api/operator/nodes'

/** Not part of the id of a node. */
const SEPARATOR = ' '

export const valueOfLog = ({ replicaId, node }: LogRef) => `${node}${SEPARATOR}${replicaId}`

export function parseLog(value: string): LogRef {
  const [node = '', ...rest] = value.split(SEPARATOR)
  return { node, replicaId: rest.join(SEPARATOR) }
}

const nameOf = ({ replicaId, endpointName }: EngineLog) => (endpointName ? `${endpointName}: ${replicaId}` : replicaId)

const placeOf = ({ node, clusterNode }: EngineLog) =>
  node ? `Node ${node}` : clusterNode ? `Cluster node ${clusterNode}` : 'Pods without a node'

export function logOptions(logs: readonly EngineLog[]) {
  const groups = new Map<string, { value: string; label: string }[]>()
  for (const log of logs) {
    const place = placeOf(log)
    const items = groups.get(place) ?? []
    items.push({ value: valueOfLog({ replicaId: log.replicaId, node: log.node ?? '' }), label: nameOf(log) })
    groups.set(place, items)
  }
  return [...groups].map(([group, items]) => ({ group, items }))
}

/** The state of a node in words. */

import type { Finding, OperatorNode } from '../../../api/operator/nodes'
import { formatCount, formatDuration, formatShare } from '../../../ui/format'
import type { Tone } from '../../../ui/StatusBadge'

const STATUSES: Record<string, { tone: Tone; label: string }> = {
  ready: { tone: 'ok', label: 'Ready' },
  degraded: { tone: 'warn', label: 'Degraded' },
  not_ready: { tone: 'bad', label: 'Not ready' },
  draining: { tone: 'busy', label: 'Draining' },
}

/** A node without a heartbeat is away, whatever it reported last. */
export function statusOfNode(node: OperatorNode): { tone: Tone; label: string } {
  if (!node.alive) return { tone: 'bad', label: 'Away' }
  if (!node.report) return { tone: 'idle', label: 'Older version' }
  return STATUSES[node.report.status] ?? { tone: 'idle', label: node.report.status }
}

/** What needs the operator about a node, as sentences. */
export function problemsOf(node: OperatorNode): string[] {
  const problems: string[] = []
  if (!node.alive) problems.push('No heartbeat: stopped, or cut off from the store')
  if (node.alive && !node.sameCatalogue) problems.push('Serves another catalogue than the node that responds')
  for (const part of node.report?.parts ?? []) if (part.status !== 'ok') problems.push(`${part.name}: ${part.why}`)
  return problems
}

/** What a node has to do: `3 calls`, `1 waits`, `Journal 2%`. Empty for older versions. */
export function loadOf({ report }: OperatorNode): string[] {
  if (!report) return []
  const { callsInFlight, heldCalls, journal } = report
  return [
    callsInFlight === 1 ? '1 call' : `${formatCount(callsInFlight)} calls`,
    ...(heldCalls > 0 ? [heldCalls === 1 ? '1 waits' : `${formatCount(heldCalls)} wait`] : []),
    `Journal ${formatShare(journal.waitingBytes / journal.maxBytes)}`,
  ]
}

/** How far the store and Redis are, and the clock from the store's, which it may be behind. Only what is known. */
export function distancesOf({ report }: OperatorNode): string[] {
  const { storeLatencyMillis: store, redisLatencyMillis: redis, clockSkewMillis: skew } = report ?? {}
  return [
    ...(store == null ? [] : [`Store ${formatDuration(store)}`]),
    ...(redis == null ? [] : [`Redis ${formatDuration(redis)}`]),
    ...(skew == null ? [] : [`Clock ${skew < 0 ? '−' : '+'}${formatDuration(Math.abs(skew))}`]),
  ]
}

/** Problems of nodes, and problems and warnings of checks. */
export function attentionOf(nodes: readonly OperatorNode[], findings: readonly Finding[]): Attention[] {
  const ofNodes = nodes.flatMap((node) => problemsOf(node).map((what) => ({ where: node.id, what })))
  const problems = findings.filter(({ level }) => level !== 'ok')
  return [...ofNodes, ...problems.map(({ check, what }) => ({ where: `Check of ${check}`, what }))]
}

/** What needs the operator, and where. */
export type Attention = { where: string; what: string }

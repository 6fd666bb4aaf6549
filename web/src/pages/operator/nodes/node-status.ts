/** The state of a node in words. */

import type { Finding, OperatorNode } from '../../../api/operator/nodes'
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

/** Problems of nodes and of checks. Warnings are left to the page of health. */
export function attentionOf(nodes: readonly OperatorNode[], findings: readonly Finding[]): Attention[] {
  const ofNodes = nodes.flatMap((node) => problemsOf(node).map((what) => ({ where: node.id, what })))
  const problems = findings.filter(({ level }) => level === 'problem')
  return [...ofNodes, ...problems.map(({ check, what }) => ({ where: `Check of ${check}`, what }))]
}

/** What needs the operator, and where. */
export type Attention = { where: string; what: string }

/** The state of a node in words. */

import type { OperatorModel } from '../../../api/operator/catalogue'
import type { FailedEndpoint, Finding, OperatorNode } from '../../../api/operator/nodes'
import { paths } from '../../../paths'
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

/** More are counted. */
const MAX_NAMED = 3

/** Problems of nodes, problems and warnings of checks, models whose calls are rejected, and failed endpoints. */
export function attentionOf(
  nodes: readonly OperatorNode[],
  findings: readonly Finding[],
  models: readonly ServedModel[],
  endpoints: readonly FailedEndpoint[],
): Attention[] {
  const ofNodes = nodes.flatMap((node) => problemsOf(node).map((what) => ({ where: node.id, what })))
  const problems = findings.filter(({ level }) => level !== 'ok')
  return [
    ...ofNodes,
    ...problems.map(({ check, what }) => ({ where: `Check of ${check}`, what })),
    ...unavailable(models),
    ...failed(endpoints),
  ]
}

type ServedModel = Pick<OperatorModel, 'id' | 'status' | 'upstreams' | 'engine'>

function unavailable(models: readonly ServedModel[]): Attention[] {
  // Models for dedicated endpoints only have no servers of their own.
  const isServed = ({ upstreams, engine }: ServedModel) => upstreams.length > 0 || engine != null
  const ids = models.filter((model) => model.status === 'unavailable' && isServed(model)).map(({ id }) => id)
  if (ids.length === 0) return []
  const others = ids.length > MAX_NAMED ? ` and ${formatCount(ids.length - MAX_NAMED)} more` : ''
  const what = `Unavailable, so that calls are rejected: ${ids.slice(0, MAX_NAMED).join(', ')}${others}`
  return [{ where: 'Models', what, href: paths.operatorModels() }]
}

/** One per organization, whose page is linked: the operator need not be a member of its workspaces. */
function failed(endpoints: readonly FailedEndpoint[]): Attention[] {
  return [...new Set(endpoints.map((one) => one.organizationId))].map((id) => {
    const all = endpoints.filter((one) => one.organizationId === id)
    const shown = all.slice(0, MAX_NAMED).map(({ name, workspaceName, stateMessage, stateReason }) => {
      return `${name}${workspaceName ? ` in ${workspaceName}` : ''} (${stateMessage || stateReason})`
    })
    const others = all.length > MAX_NAMED ? ` and ${formatCount(all.length - MAX_NAMED)} more` : ''
    const what = `Failed ${all.length === 1 ? 'endpoint' : 'endpoints'}: ${shown.join(', ')}${others}`
    return { where: all[0]?.organizationName ?? id, what, href: paths.operatorOrganization(id) }
  })
}

/** What needs the operator, and where. */
export type Attention = { where: string; what: string; href?: string }

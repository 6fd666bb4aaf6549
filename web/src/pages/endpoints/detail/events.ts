/** Events of an endpoint, as a story: what each is called, and which kind it is. */

import type { EndpointEvent } from '../../../api/endpoints'
import type { Tone } from '../../../ui/StatusBadge'
import { lookOf } from '../states'

export const KINDS = ['all', 'states', 'scaling', 'replicas'] as const
export type Kind = (typeof KINDS)[number]

const NAMES: Record<string, [name: string, tone: Tone, kind: Exclude<Kind, 'all'>]> = {
  'endpoint.created': ['Created', 'ok', 'states'],
  'endpoint.updated': ['Changed', 'idle', 'scaling'],
  'endpoint.suspended': ['Suspended', 'warn', 'states'],
  'endpoint.resumed': ['Resumed', 'busy', 'states'],
  'endpoint.deleting': ['Deletion asked for', 'warn', 'states'],
  'endpoint.deleted': ['Deleted', 'idle', 'states'],
  'endpoint.state-changed': ['State changed', 'busy', 'states'],
  'endpoint.scaled': ['Scaled', 'busy', 'scaling'],
  'replica.bound': ['Replica got its GPUs', 'busy', 'replicas'],
  'replica.ready': ['Replica ready', 'ok', 'replicas'],
  'replica.failed': ['Replica failed', 'bad', 'replicas'],
  'replica.drained': ['Replica drained', 'idle', 'replicas'],
  'replica.released': ['Replica released', 'idle', 'replicas'],
  'allotment.rejected': ['Refused: GPU allotment', 'bad', 'scaling'],
  'autoscaler.metrics-missing': ['Autoscaler sees no load', 'warn', 'scaling'],
  'autoscaler.metrics-recovered': ['Autoscaler sees the load again', 'ok', 'scaling'],
}

/** Parts of Forebay that act by themselves. */
const SYSTEMS: Record<string, string> = { reconciler: 'Forebay', autoscaler: 'the autoscaler' }

export type Told = { title: string; tone: Tone; kind: Kind; message: string; by: string }

export function tell(event: EndpointEvent): Told {
  const [name, tone, kind] = NAMES[event.type] ?? [event.type, 'idle', 'states']
  const turned = event.type === 'endpoint.state-changed' && event.to
  return {
    title: turned ? `Now ${lookOf(event.to ?? '').label.toLowerCase()}` : name,
    tone: turned ? lookOf(event.to ?? '').tone : tone,
    kind: kind as Kind,
    message: event.message,
    by:
      event.actor.kind === 'system'
        ? (SYSTEMS[event.actor.id] ?? event.actor.id)
        : event.actor.kind === 'user'
          ? 'a member'
          : 'an API key',
  }
}

export const chosen = (events: readonly EndpointEvent[], kind: Kind) =>
  kind === 'all' ? [...events] : events.filter((event) => tell(event).kind === kind)

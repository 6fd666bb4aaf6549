/** Titles and categories of endpoint events. */

import type { EndpointEvent } from '../../../api/endpoints'
import type { Tone } from '../../../ui/StatusBadge'
import { endpointStateDisplay } from '../states'

export const EVENT_FILTERS = ['all', 'states', 'scaling', 'replicas'] as const
export type EventFilter = (typeof EVENT_FILTERS)[number]

const NAMES: Record<string, [name: string, tone: Tone, kind: Exclude<EventFilter, 'all'>]> = {
  'endpoint.created': ['Created', 'ok', 'states'],
  'endpoint.updated': ['Changed', 'idle', 'scaling'],
  'endpoint.suspended': ['Suspended', 'warn', 'states'],
  'endpoint.resumed': ['Resumed', 'busy', 'states'],
  'endpoint.deleting': ['Deletion requested', 'warn', 'states'],
  'endpoint.deleted': ['Deleted', 'idle', 'states'],
  'endpoint.state-changed': ['State changed', 'busy', 'states'],
  'endpoint.scaled': ['Scaled', 'busy', 'scaling'],
  'replica.bound': ['Replica assigned GPUs', 'busy', 'replicas'],
  'replica.ready': ['Replica ready', 'ok', 'replicas'],
  'replica.failed': ['Replica failed', 'bad', 'replicas'],
  'replica.drained': ['Replica drained', 'idle', 'replicas'],
  'replica.released': ['Replica released', 'idle', 'replicas'],
  'allotment.rejected': ['Rejected: GPU allotment exceeded', 'bad', 'scaling'],
  'autoscaler.metrics-missing': ['Autoscaler metrics missing', 'warn', 'scaling'],
  'autoscaler.metrics-recovered': ['Autoscaler metrics recovered', 'ok', 'scaling'],
}

/** Names of automatic actors. */
const SYSTEMS: Record<string, string> = { reconciler: 'Forebay', autoscaler: 'the autoscaler' }

export type EventDescription = { title: string; tone: Tone; kind: EventFilter; message: string; by: string }

export function describeEvent(event: EndpointEvent): EventDescription {
  const [name, tone, kind] = NAMES[event.type] ?? [event.type, 'idle', 'states']
  const isStateChange = event.type === 'endpoint.state-changed' && event.to
  return {
    title: isStateChange ? `Now ${endpointStateDisplay(event.to ?? '').label.toLowerCase()}` : name,
    tone: isStateChange ? endpointStateDisplay(event.to ?? '').tone : tone,
    kind: kind as EventFilter,
    message: event.message,
    by:
      event.actor.kind === 'system'
        ? (SYSTEMS[event.actor.id] ?? event.actor.id)
        : event.actor.kind === 'user'
          ? 'a member'
          : 'an API key',
  }
}

/** Marks of a chart. */
export const marksOf = (events: readonly Pick<EndpointEvent, 'at' | 'message'>[]) =>
  events.map(({ at, message }) => ({ at: Date.parse(at), label: message }))

export const filterEvents = (events: readonly EndpointEvent[], filter: EventFilter) =>
  filter === 'all' ? [...events] : events.filter((event) => describeEvent(event).kind === filter)

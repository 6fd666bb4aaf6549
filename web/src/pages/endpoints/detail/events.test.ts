import { describe, expect, it } from 'vitest'
import type { EndpointEvent } from '../../../api/endpoints'
import { describeEvent, filterEvents } from './events'

const event = (change: Partial<EndpointEvent>): EndpointEvent => ({
  id: 'evt_1',
  type: 'endpoint.created',
  at: '2026-11-15T10:00:00Z',
  actor: { kind: 'user', id: 'usr_1' },
  reason: '',
  message: '',
  data: {},
  ...change,
})

describe('events of an endpoint', () => {
  it('name a state change by the new state', () => {
    expect(describeEvent(event({ type: 'endpoint.state-changed', to: 'serving' }))).toMatchObject({
      title: 'Now serving',
      tone: 'ok',
    })
  })
  it('show the message of an autoscaler decision', () => {
    const scaled = event({
      type: 'endpoint.scaled',
      actor: { kind: 'system', id: 'autoscaler' },
      message: '1 → 2: concurrency 18 against 16 for 30 s',
    })
    expect(describeEvent(scaled)).toMatchObject({ title: 'Scaled', by: 'the autoscaler', message: scaled.message })
  })
  it('show unknown events by their type', () =>
    expect(describeEvent(event({ type: 'moon.rose' })).title).toBe('moon.rose'))
  it('are filtered by category', () => {
    const events = [event({}), event({ type: 'replica.ready' }), event({ type: 'endpoint.scaled' })]
    expect(filterEvents(events, 'replicas')).toHaveLength(1)
    expect(filterEvents(events, 'all')).toHaveLength(3)
  })
})

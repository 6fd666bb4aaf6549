import { describe, expect, it } from 'vitest'
import type { EndpointEvent } from '../../../api/endpoints'
import { chosen, tell } from './events'

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

describe('the story of an endpoint', () => {
  it('names a change by the state it led to', () => {
    expect(tell(event({ type: 'endpoint.state-changed', to: 'serving' }))).toMatchObject({
      title: 'Now serving',
      tone: 'ok',
    })
  })
  it('tells decisions of the autoscaler in its words', () => {
    const scaled = event({
      type: 'endpoint.scaled',
      actor: { kind: 'system', id: 'autoscaler' },
      message: '1 → 2: concurrency 18 against 16 for 30 s',
    })
    expect(tell(scaled)).toMatchObject({ title: 'Scaled', by: 'the autoscaler', message: scaled.message })
  })
  it('shows an event it does not know by its type', () =>
    expect(tell(event({ type: 'moon.rose' })).title).toBe('moon.rose'))
  it('chooses by kind', () => {
    const events = [event({}), event({ type: 'replica.ready' }), event({ type: 'endpoint.scaled' })]
    expect(chosen(events, 'replicas')).toHaveLength(1)
    expect(chosen(events, 'all')).toHaveLength(3)
  })
})

import { describe, expect, it } from 'vitest'
import type { Finding, OperatorNode } from '../../../api/operator/nodes'
import { attentionOf, distancesOf, loadOf, problemsOf, statusOfNode } from './node-status'

const node = (change: object) =>
  ({ alive: true, sameCatalogue: true, report: { status: 'ready', parts: [] }, ...change }) as unknown as OperatorNode

describe('the state of a node', () => {
  it('is what it reports while its heartbeat is recent', () => {
    expect(statusOfNode(node({})).label).toBe('Ready')
    expect(statusOfNode(node({ alive: false })).label).toBe('Away')
    expect(statusOfNode(node({ report: null })).label).toBe('Older version')
  })
  it('lists what needs the operator', () => {
    expect(problemsOf(node({}))).toEqual([])
    const parts = [
      { name: 'store', status: 'ok', why: '' },
      { name: 'redis', status: 'degraded', why: 'slow' },
    ]
    expect(problemsOf(node({ sameCatalogue: false, report: { status: 'degraded', parts } }))).toEqual([
      'Serves another catalogue than the node that responds',
      'redis: slow',
    ])
  })
  it('has a load, and distances that are known', () => {
    const journal = { waitingBytes: 1, maxBytes: 50 }
    expect(loadOf(node({ report: { callsInFlight: 1, heldCalls: 0, journal } }))).toEqual(['1 call', 'Journal 2%'])
    const busy = node({ report: { callsInFlight: 1_200, heldCalls: 2, journal } })
    expect(loadOf(busy)).toEqual(['1,200 calls', '2 wait', 'Journal 2%'])
    const report = { storeLatencyMillis: 1.24, redisLatencyMillis: null, clockSkewMillis: -20 }
    expect(distancesOf(node({ report }))).toEqual(['Store 1.2 ms', 'Clock −20 ms'])
    expect([loadOf(node({ report: null })), distancesOf(node({ report: null }))]).toEqual([[], []])
  })
  it('needs attention for problems and warnings', () => {
    const finding = (level: string) => ({ check: level, level, what: 'it', remedy: '' }) as Finding
    const nodes = [node({ id: 'a' }), node({ id: 'b', alive: false })]
    expect(attentionOf(nodes, [finding('ok'), finding('warning'), finding('problem')], [], [])).toEqual([
      { where: 'b', what: 'No heartbeat: stopped, or cut off from the store' },
      { where: 'Check of warning', what: 'it' },
      { where: 'Check of problem', what: 'it' },
    ])
  })
  it('needs attention for models without a healthy server, but not for those of endpoints', () => {
    type Models = Parameters<typeof attentionOf>[2]
    const models = (...ids: string[]) => ids.map((id) => ({ id, status: 'unavailable', upstreams: [{}] }))
    const texts = (all: object[]) => attentionOf([], [], all as unknown as Models, []).map(({ what }) => what)
    expect(texts(models('a', 'b', 'c', 'd', 'e'))).toEqual([
      'Unavailable, so that calls are rejected: a, b, c and 2 more',
    ])
    const [model] = models('a')
    expect(
      texts([
        { ...model, upstreams: [] },
        { ...model, status: 'disabled' },
      ]),
    ).toEqual([])
  })
  it('needs attention for failed endpoints, by organization with a link', () => {
    const endpoint = (name: string, organization: string, workspaceName: string | null = 'Production') => ({
      id: `ep_${name}`,
      name,
      model: 'acme/tiny',
      organizationId: organization,
      organizationName: organization.toUpperCase(),
      workspaceId: 'ws_1',
      workspaceName,
      stateReason: 'weights-missing',
      stateMessage: name === 'a' ? 'No weights' : '',
      failedAt: '2026-11-01T00:00:00Z',
    })
    const endpoints = [endpoint('a', 'x'), ...['b', 'c', 'd', 'e'].map((name) => endpoint(name, 'y', null))]
    const reason = '(weights-missing)'
    expect(attentionOf([], [], [], endpoints)).toEqual([
      { where: 'X', what: 'Failed endpoint: a in Production (No weights)', href: '/operator/organizations/x' },
      {
        where: 'Y',
        what: `Failed endpoints: b ${reason}, c ${reason}, d ${reason} and 1 more`,
        href: '/operator/organizations/y',
      },
    ])
  })
})

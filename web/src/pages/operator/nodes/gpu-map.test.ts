import { describe, expect, it } from 'vitest'
import type { Gpu } from '../../../api/operator/nodes'
import { activityOf, groupByEndpoint, groupByNode, ownerOf, shortId, summaryOf } from './gpu-map'

const gpu = (change: object) =>
  ({ node: 'a', gpuType: 'nvidia/h100', id: 'GPU-1', cluster: false, state: 'free', ...change }) as unknown as Gpu
const held = (change: object, endpointName = 'chat') =>
  gpu({ state: 'held', holder: { endpointId: endpointName, endpointName, model: 'acme/tiny' }, ...change })

describe('the map of GPUs', () => {
  it('has a group per node and type, with free GPUs last', () => {
    const gpus = [gpu({ id: '1' }), held({ id: '2' }), gpu({ node: 'b', cluster: true, state: 'unknown' })]
    const groups = groupByNode(gpus).map(({ node, isCluster, free, gpus }) => [
      node,
      isCluster,
      free,
      gpus.map(ownerOf).join(),
    ])
    expect(groups).toEqual([
      ['a', false, 1, 'chat,Free'],
      ['b', true, 0, 'Free or others'],
    ])
    expect(summaryOf(gpus)).toBe('1 of 3 free, 1 free or used by others')
  })
  it('counts the GPUs of each endpoint', () => {
    const gpus = [held({}, 'small'), held({}), held({ node: 'b' }), gpu({ state: 'other' })]
    expect(groupByEndpoint(gpus).map(({ name, count, nodes }) => [name, count, nodes])).toEqual([
      ['chat', 2, ['a', 'b']],
      ['small', 1, ['a']],
    ])
  })
  it('names GPUs shortly, and what they do', () => {
    expect(shortId(gpu({ id: 'local/cpu#3' }))).toBe('#3')
    expect(shortId(gpu({ id: 'GPU-0a1b2c3d-4e5f' }))).toBe('GPU-0a1b2c3d')
    expect(shortId(gpu({ cluster: true }))).toBe('')
    expect(activityOf(gpu({ busyPercent: 87, busy: true }))).toBe('87% busy')
    expect([activityOf(gpu({ busy: true })), activityOf(gpu({ busy: null }))]).toEqual(['busy', ''])
  })
})

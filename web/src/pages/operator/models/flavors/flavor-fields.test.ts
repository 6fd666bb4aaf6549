import { describe, expect, it } from 'vitest'
import type { OperatorModel } from '../../../../api/operator/catalogue'
import { EMPTY_FLAVOR, flavorsWith, placesOf, suggestName, toFlavor } from './flavor-fields'

const flavor = {
  name: 'h100-1x',
  gpuType: 'nvidia/h100',
  gpuCount: 1,
  precision: 'fp8',
  driver: 'process',
  engine: 'vllm',
  toolParser: 'hermes',
  reasoningParser: null,
  chatTemplate: null,
  args: ['--dtype', 'auto'],
  argv: null,
  image: null,
  pricePerGpuHour: '2.5',
  weights: '/srv/x',
  defaultTarget: null,
  prefillTarget: 0,
  maxLen: null,
}
const kept = {
  name: 'h100-1x',
  gpuType: 'nvidia/h100',
  gpuCount: 1,
  precision: 'fp8',
  driver: 'process',
  engine: 'vllm',
  toolParser: 'hermes',
  args: ['--dtype', 'auto'],
  weights: '/srv/x',
  pricePerGpuHour: '2.5',
  prefillTarget: 0,
}
const model = { engine: null, flavors: [flavor] } as unknown as OperatorModel
const added = { ...EMPTY_FLAVOR, name: ' cpu ', gpuType: 'local/cpu', precision: ' ' }
const new_ = { name: 'cpu', gpuType: 'local/cpu', gpuCount: 1, driver: 'process', engine: 'forebay-engine' }

describe('flavors', () => {
  it('are sent as a whole list', () => {
    expect(toFlavor(added)).toEqual(new_)
    expect(flavorsWith(model, undefined, added)).toEqual([kept, new_])
    expect(flavorsWith(model, 0, added)).toEqual([new_])
    expect(flavorsWith(model, 0, undefined)).toEqual([])
  })

  it('do not take over the weights of the model’s engine', () => {
    const own = { ...model, engine: { weights: '/srv/x', replicas: 1 } } as OperatorModel
    const { weights: _, ...without } = kept
    expect(flavorsWith(own, undefined, undefined)).toEqual([without])
  })

  it('get a name from their hardware', () => {
    expect(suggestName('nvidia/h100', 2)).toBe('h100-2x')
    expect(suggestName('nvidia', 2)).toBe('')
  })

  it('show where a GPU type is known from', () => {
    const nodes = [
      { node: 'a', gpus: 8, free: 2 },
      { node: 'b', gpus: 8, free: 8 },
    ]
    expect(placesOf({ gpuType: 'nvidia/h100', driver: 'process', nodes })).toBe('10 of 16 free on 2 nodes')
    expect(placesOf({ gpuType: 'nvidia/h100', driver: 'kubernetes', nodes: [] })).toBe('on no node of the cluster')
  })
})

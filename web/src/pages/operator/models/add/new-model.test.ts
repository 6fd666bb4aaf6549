import { expect, it } from 'vitest'
import { EMPTY_UPSTREAM } from '../fields'
import { EMPTY_FLAVOR } from '../flavors/flavor-fields'
import { fieldsOf, toNewModel } from './new-model'

it('sends what serves the model, whatever its source', () => {
  const upstream = { ...EMPTY_UPSTREAM, url: ' http://x/v1 ', maxInFlight: 4 }
  expect(toNewModel(fieldsOf({ id: ' a/b ', upstreams: [upstream] }))).toMatchObject({
    id: 'a/b',
    name: null,
    upstreams: [{ url: 'http://x/v1', maxInFlight: 4 }],
  })
  const engine = { weights: 'hf://a/b', replicas: 2, parallel: undefined, args: '--threads  4 ' }
  expect(toNewModel(fieldsOf({ id: 'a/b', contextLength: 8_192, engine }))).toMatchObject({
    contextLength: 8_192,
    engine: { weights: 'hf://a/b', replicas: 2, args: ['--threads', '4'] },
  })
  const flavor = { ...EMPTY_FLAVOR, name: 'h100-1x', gpuType: 'nvidia/h100' }
  const dedicated = toNewModel(fieldsOf({ id: 'a/b', flavors: [flavor] }))
  expect(dedicated).toMatchObject({ flavors: [{ name: 'h100-1x', gpuType: 'nvidia/h100', gpuCount: 1 }] })
  expect(Object.keys(dedicated)).not.toContain('engine')
})

import { describe, expect, it } from 'vitest'
import type { OperatorModel } from '../../../api/operator/catalogue'
import { servedBy, usesOf } from './source'

describe('what serves a model', () => {
  const served = (change: object) => servedBy({ engine: null, upstreams: [], ...change } as unknown as OperatorModel)
  it('is named with the calls that engines compute at once, if that was chosen', () => {
    expect(served({ engine: { weights: 'hf://acme/x', replicas: 1 } })).toBe('1 engine here')
    const few = { weights: 'hf://acme/x', replicas: 2, parallel: 4 }
    expect(served({ engine: few })).toBe('2 engines here, 4 calls at once each')
    expect(served({ upstreams: [{}] })).toBe('1 server')
    expect(served({})).toBe('Dedicated endpoints only')
  })
})

describe('uses of a model', () => {
  it('are listed', () =>
    expect(usesOf({ aliases: ['gpt', 'claude-*'], workspaceAliases: 1, endpoints: 2, flavors: [] })).toBe(
      'the catalogue’s aliases gpt, claude-*, 1 alias of a workspace, 2 dedicated endpoints',
    ))
  it('may be none', () => {
    expect(usesOf({ aliases: [], workspaceAliases: 0, endpoints: 0, flavors: [] })).toBeUndefined()
    expect(usesOf(undefined)).toBeUndefined()
  })
})

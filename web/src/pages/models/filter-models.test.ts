import { describe, expect, it } from 'vitest'
import type { Model } from '../../api/models'
import { filterModels, valuesOf } from './filter-models'

const model = (id: string, change: Partial<Model> = {}, input = '1', output = '2'): Model => ({
  id,
  object: 'model',
  created: 0,
  owned_by: id.split('/')[0] ?? '',
  name: id.split('/')[1] ?? '',
  provider: id.split('/')[0] ?? '',
  modality: 'chat',
  status: 'available',
  context_length: 8192,
  optimized: false,
  capabilities: {},
  pricing: { currency: 'USD', input_per_1m: input, cached_input_per_1m: input, output_per_1m: output },
  ...change,
})

const models = [
  model('acme/large', { context_length: 131_072 }, '10', '30'),
  model('acme/tiny', { status: 'degraded' }, '0.10', '0.40'),
  model('open/vectors', { modality: 'embedding', context_length: 512 }, '0.02', '0'),
]
const none = { q: '', provider: '', modality: '', status: '', sort: 'name' } as const
const ids = (query: Partial<Parameters<typeof filterModels>[1]>) =>
  filterModels({ models, aliases: new Map() }, { ...none, ...query }).map((one) => one.id)

describe('filterModels', () => {
  it('sorts by name by default', () => expect(ids({})).toEqual(['acme/large', 'acme/tiny', 'open/vectors']))
  it('sorts prices numerically', () =>
    expect(ids({ sort: 'input' })).toEqual(['open/vectors', 'acme/tiny', 'acme/large']))
  it('puts models without output last in both directions', () => {
    expect(ids({ sort: 'output' }).at(-1)).toBe('open/vectors')
    expect(ids({ sort: '-output' })).toEqual(['acme/large', 'acme/tiny', 'open/vectors'])
  })
  it('sorts by context', () => expect(ids({ sort: '-context' })[0]).toBe('acme/large'))
  it('matches every word anywhere in id and name', () => {
    expect(ids({ q: 'TINY acme' })).toEqual(['acme/tiny'])
    expect(ids({ q: 'tiny open' })).toEqual([])
  })
  it('finds a model by its aliases', () => {
    const aliases = new Map([['acme/tiny', ['claude-haiku']]])
    expect(filterModels({ models, aliases }, { ...none, q: 'Claude' }).map((one) => one.id)).toEqual(['acme/tiny'])
  })
  it('filters by provider, modality and status together', () => {
    expect(ids({ provider: 'acme', status: 'degraded' })).toEqual(['acme/tiny'])
    expect(ids({ modality: 'embedding' })).toEqual(['open/vectors'])
  })
  it('lists the distinct values of a member', () => expect(valuesOf(models, 'provider')).toEqual(['acme', 'open']))
})

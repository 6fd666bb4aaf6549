import { describe, expect, it } from 'vitest'
import type { OperatorModel } from '../../../api/operator/catalogue'
import { detailsOf, EMPTY_UPSTREAM, editOf, hasChanges, suggestId, toUpstream, upstreamsOf } from './fields'

const upstream = {
  url: 'http://a/v1',
  model: 'm',
  hasKey: true,
  maxInFlight: 4,
  healthPath: '/health',
  continuousUsage: true,
  engine: 'vllm',
  native: ['responses'],
  priorityScheduling: true,
}
const model = {
  id: 'acme/x',
  version: 7,
  name: 'X',
  modality: 'chat',
  contextLength: 8192,
  inputPer1m: '0.1',
  cachedInputPer1m: '0.05',
  outputPer1m: '0.4',
  per1kSearches: '0.00',
  batchDiscount: '1',
  batchShare: 0.5,
  queueTimeout: '0s',
  sharePrefixCache: false,
  probe: null,
  failover: false,
  mediaUrls: false,
  mergeSystem: true,
  thinking: null,
  reasoningNames: 'both',
  streamTools: true,
  imageSquare: 28,
  maxImageTokens: 16384,
  upstreams: [upstream],
} as unknown as OperatorModel

describe('fields of a model', () => {
  it('send nothing but the version if nothing was changed', () => {
    const edit = editOf(model, detailsOf(model), upstreamsOf(model))
    expect(edit).toEqual({ version: 7 })
    expect(hasChanges(edit)).toBe(false)
  })

  it('send changed members only, and null for emptied ones', () => {
    const prices = { outputPer1m: ' 0.5 ', cachedInputPer1m: '', batchDiscount: '0.5' }
    const details = { ...detailsOf(model), ...prices, batchShare: undefined, queueTimeout: ' 30s ' }
    const edit = editOf(model, details, upstreamsOf(model))
    expect(edit).toEqual({
      version: 7,
      outputPer1m: '0.5',
      cachedInputPer1m: null,
      batchDiscount: '0.5',
      batchShare: null,
      queueTimeout: '30s',
    })
    expect(hasChanges(edit)).toBe(true)
  })

  it('send the cached price that the form shows with a changed input price', () => {
    const details = { ...detailsOf(model), inputPer1m: '0.2' }
    const edit = editOf(model, details, upstreamsOf(model))
    expect(edit).toEqual({ version: 7, inputPer1m: '0.2', cachedInputPer1m: '0.05' })
  })

  it('send what applies to chat for chat models only', () => {
    const failover = { ...detailsOf(model), failover: true, thinking: 'enable_thinking' }
    expect(editOf(model, failover, upstreamsOf(model))).toEqual({
      version: 7,
      failover: true,
      thinking: 'enable_thinking',
    })
    const embedding = editOf(model, { ...failover, modality: 'embedding' }, upstreamsOf(model))
    expect(embedding).toEqual({
      version: 7,
      modality: 'embedding',
      mergeSystem: false,
      imageSquare: null,
      maxImageTokens: null,
    })
    const dialect = { ...detailsOf(model), reasoningNames: 'as_is', streamTools: false }
    expect(editOf(model, dialect, upstreamsOf(model))).toEqual({
      version: 7,
      reasoningNames: 'as_is',
      streamTools: false,
    })
  })

  it('send the price of searches for rerank models only', () => {
    const rerank = { ...model, modality: 'rerank', per1kSearches: '2.00' }
    expect(hasChanges(editOf(rerank, detailsOf(rerank), upstreamsOf(rerank)))).toBe(false)
    const cheaper = { ...detailsOf(rerank), per1kSearches: ' 1.50 ' }
    expect(editOf(rerank, cheaper, upstreamsOf(rerank))).toEqual({ version: 7, per1kSearches: '1.50' })
    const embedding = { ...cheaper, modality: 'embedding' as const }
    expect(editOf(rerank, embedding, upstreamsOf(rerank))).toEqual({
      version: 7,
      modality: 'embedding',
      per1kSearches: null,
    })
  })

  it.each([
    [null, ''],
    [true, 'on'],
    [false, 'off'],
  ] as const)('have three states of the probe: %s', (probe, field) => {
    const own = { ...model, probe }
    expect(detailsOf(own).probe).toBe(field)
    expect(hasChanges(editOf(own, detailsOf(own), upstreamsOf(own)))).toBe(false)
    expect(editOf(model, { ...detailsOf(model), probe: field }, upstreamsOf(model))).toEqual(
      probe === null ? { version: 7 } : { version: 7, probe },
    )
  })

  it('keep what the form does not show, and the stored key unless it is typed or removed', () => {
    const [fields = EMPTY_UPSTREAM] = upstreamsOf(model)
    const { hasKey: _, ...kept } = upstream
    expect(toUpstream(fields)).toEqual(kept)
    expect(toUpstream({ ...fields, apiKey: 'sk-new' })).toEqual({ ...kept, apiKey: 'sk-new' })
    expect(toUpstream({ ...fields, removesKey: true })).toEqual({ ...kept, apiKey: null })
  })

  it.each([
    ['Qwen/Qwen3-8B', 'qwen/qwen3-8b'],
    ['llama', 'local/llama'],
    ['/models/My Model.gguf', 'models/my-model.gguf'],
    ['a/b/c', 'b/c'],
    ['///', ''],
  ])('suggest an id for %s', (offered, id) => expect(suggestId(offered)).toBe(id))
})

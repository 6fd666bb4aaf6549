import { expect, it } from 'vitest'
import type { UpstreamProbe } from '../../../../api/operator/catalogue'
import { remaining, requestOf, suggestModel } from './several-models'

const probe = {
  url: 'http://a/v1',
  engine: 'vllm',
  healthPath: '/health',
  call: { continuousUsage: true },
  models: [{ id: 'Qwen/Qwen3-8B', contextLength: 40_960 }, { id: 'BAAI/bge-m3' }],
} as UpstreamProbe

it('suggests ids, and modalities by the names', () => {
  expect(probe.models.map(({ id }) => suggestModel(id))).toEqual([
    { offered: 'Qwen/Qwen3-8B', id: 'qwen/qwen3-8b', modality: 'chat' },
    { offered: 'BAAI/bge-m3', id: 'baai/bge-m3', modality: 'embedding' },
  ])
})

it('asks for each model with what the probe found', () => {
  expect(requestOf(probe, 'secret', { offered: 'Qwen/Qwen3-8B', id: ' acme/q ', modality: 'chat' })).toEqual({
    id: 'acme/q',
    modality: 'chat',
    contextLength: 40_960,
    upstreams: [
      {
        url: 'http://a/v1',
        model: 'Qwen/Qwen3-8B',
        apiKey: 'secret',
        healthPath: '/health',
        continuousUsage: true,
        engine: 'vllm',
      },
    ],
  })
})

it('tries again only what was not added', () => {
  const models = ['a', 'b', 'c'].map(suggestModel)
  const outcomes = new Map([
    ['a', { kind: 'added' } as const],
    ['b', { kind: 'failed', message: 'taken' } as const],
  ])
  expect(remaining(models, outcomes).map(({ offered }) => offered)).toEqual(['b', 'c'])
})

import { describe, expect, it } from 'vitest'
import type { WeightsDownload } from '../../../../api/operator/weights'
import { canResume, downloadOf, isActive, nameOf, percentOf, progressOf, shortName, stateOf } from './downloads'

const download = (change: Partial<WeightsDownload>): WeightsDownload => ({
  id: 'dl_1',
  nodeId: 'node_1',
  weights: 'hf://acme/tiny@abc/tiny.gguf',
  repository: 'acme/tiny',
  license: null,
  bytes: 2_000 << 20,
  doneBytes: 500 << 20,
  bytesPerSecond: 0,
  state: 'downloading',
  error: null,
  createdAt: '2026-11-17T08:00:00Z',
  usedBy: [],
  ...change,
})

describe('a download', () => {
  it('shows how much has arrived, and when the rest will have', () => {
    expect(progressOf(download({}))).toBe('500 MiB of 1.95 GiB')
    expect(progressOf(download({ bytesPerSecond: 50 << 20 }))).toBe('500 MiB of 1.95 GiB, 50 MiB/s, 30 s left')
    expect(progressOf(download({ bytesPerSecond: 50 << 20, state: 'queued' }))).toBe('500 MiB of 1.95 GiB')
    expect(percentOf(download({}))).toBe(25)
    expect(percentOf(download({ bytes: 0, doneBytes: 0 }))).toBe(100)
  })

  it('can be cancelled while it is active, and resumed afterwards', () => {
    const states = ['queued', 'downloading', 'verifying', 'done', 'failed', 'cancelled', 'missing']
    const those = (holds: (one: WeightsDownload) => boolean) => states.filter((state) => holds(download({ state })))
    expect(those(isActive)).toEqual(['queued', 'downloading', 'verifying'])
    expect(those(canResume)).toEqual(['failed', 'cancelled', 'missing'])
    expect(stateOf('done')).toEqual({ tone: 'ok', label: 'Downloaded' })
    expect(stateOf('new').label).toBe('new')
  })

  it('is the one that has got furthest, of several nodes', () => {
    const weights = 'hf://acme/tiny@abc/tiny.gguf'
    const on = (...states: string[]) =>
      downloadOf(
        states.map((state) => download({ state, nodeId: `on_${state}` })),
        weights,
        'on_failed',
      )?.nodeId
    expect(on('failed', 'downloading', 'done')).toBe('on_done')
    expect(on('failed', 'queued', 'cancelled')).toBe('on_queued')
    expect(on('cancelled', 'failed')).toBe('on_failed')
    expect(on('cancelled', 'missing'), 'this node can still download it').toBeUndefined()
    expect(downloadOf([download({ weights: 'hf://acme/other@abc' })], weights, undefined)).toBeUndefined()
  })

  it('is named without the commit', () => {
    expect(shortName('hf://acme/tiny@0123/sub/tiny.gguf')).toBe('acme/tiny/sub/tiny.gguf')
    expect(shortName('/srv/models/tiny.gguf')).toBe('/srv/models/tiny.gguf')
    expect(nameOf(download({}))).toBe('acme/tiny/tiny.gguf on node_1')
  })
})

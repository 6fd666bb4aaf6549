import { describe, expect, it } from 'vitest'
import { boundsOf, defaultScaling, faultsOf, toScaling } from './scaling'

const fields = (change: Partial<ReturnType<typeof defaultScaling>> = {}) => ({ ...defaultScaling(), ...change })

describe('scaling as a form', () => {
  it('is right as it starts', () => expect(faultsOf(fields())).toEqual({}))
  it('names the field that is wrong', () => {
    expect(faultsOf(fields({ max: 65 }))).toEqual({ max: 'From 1 to 64' })
    expect(faultsOf(fields({ min: 3, max: 2 }))).toEqual({ max: 'Not fewer than the minimum' })
    expect(faultsOf(fields({ min: 1.5, max: 2 }))).toEqual({ min: 'A whole number' })
    expect(faultsOf(fields({ metric: 'kv-cache-utilization', target: 16 }))).toEqual({ target: 'From 0.1 to 0.95' })
    expect(faultsOf(fields({ mode: 'fixed', replicas: '' }))).toEqual({ replicas: 'From 1 to 64' })
  })
  it('asks for the window to zero only where zero can be reached', () => {
    expect(faultsOf(fields({ min: 0, scaleToZeroSecs: 5 }))).toEqual({ scaleToZeroSecs: 'From 60 to 86400' })
    expect(faultsOf(fields({ min: 1, scaleToZeroSecs: 5 }))).toEqual({})
  })
  it('sends one kind of scaling, never both', () => {
    expect(toScaling(fields({ mode: 'fixed', replicas: 2 }))).toEqual({ replicas: 2 })
    const sent = toScaling(fields({ min: 1, max: 3 }))
    expect(sent).toMatchObject({ minReplicas: 1, maxReplicas: 3, autoscalingMetric: 'concurrency' })
    expect(sent).not.toHaveProperty('replicas')
    expect(sent).not.toHaveProperty('scaleToZeroWindowSeconds')
  })
  it('knows how many replicas there can be, or nothing while somebody types', () => {
    expect(boundsOf(fields({ min: 0, max: 3 }))).toEqual({ least: 0, most: 3 })
    expect(boundsOf(fields({ max: '' }))).toBeUndefined()
  })
})

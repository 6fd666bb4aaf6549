import { describe, expect, it } from 'vitest'
import { ranges } from '../../../api/schema'
import { boundsOf, defaultScaling, fieldErrorsOf, RANGES, resumedWith, toScaling } from './scaling'

const fields = (change: Partial<ReturnType<typeof defaultScaling>> = {}) => ({ ...defaultScaling(), ...change })

describe('the scaling form', () => {
  it('has the ranges of the API', () => {
    const { min, max, replicas, scaleToZeroSecs, scaleUpSecs, scaleDownSecs } = RANGES
    expect(ranges.EndpointScaling).toEqual({
      replicas,
      minReplicas: min,
      maxReplicas: max,
      scaleToZeroWindowSeconds: scaleToZeroSecs,
      scaleUpWindowSeconds: scaleUpSecs,
      scaleDownWindowSeconds: scaleDownSecs,
    })
  })
  it('begins with the defaults of the API: a warm floor of one replica, not scale-to-zero (SPEC 2.4)', () => {
    expect(toScaling(defaultScaling())).toMatchObject({ minReplicas: 1, maxReplicas: 1 })
  })
  it('is valid initially', () => expect(fieldErrorsOf(fields())).toEqual({}))
  it('reports invalid fields', () => {
    expect(fieldErrorsOf(fields({ max: 65 }))).toEqual({ max: 'Must be between 1 and 64' })
    expect(fieldErrorsOf(fields({ min: 3, max: 2 }))).toEqual({ max: 'Must not be less than the minimum' })
    expect(fieldErrorsOf(fields({ min: 1.5, max: 2 }))).toEqual({ min: 'Must be a whole number' })
    expect(fieldErrorsOf(fields({ metric: 'kv-cache-utilization', target: 16 }))).toEqual({
      target: 'Must be between 0.1 and 0.95',
    })
    expect(fieldErrorsOf(fields({ mode: 'fixed', replicas: '' }))).toEqual({ replicas: 'Must be between 1 and 64' })
  })
  it('validates the scale-to-zero window only if the minimum is zero', () => {
    expect(fieldErrorsOf(fields({ min: 0, scaleToZeroSecs: 5 }))).toEqual({
      scaleToZeroSecs: 'Must be between 60 and 86400',
    })
    expect(fieldErrorsOf(fields({ min: 1, scaleToZeroSecs: 5 }))).toEqual({})
  })
  it('sends either fixed or automatic scaling, never both', () => {
    expect(toScaling(fields({ mode: 'fixed', replicas: 2 }))).toEqual({ replicas: 2 })
    const sent = toScaling(fields({ min: 1, max: 3 }))
    expect(sent).toMatchObject({ minReplicas: 1, maxReplicas: 3, autoscalingMetric: 'concurrency' })
    expect(sent).not.toHaveProperty('replicas')
    expect(sent).not.toHaveProperty('scaleToZeroWindowSeconds')
  })
  it('lets a resume come down in size, with one request (SPEC 7.4)', () => {
    expect(resumedWith({ replicas: 4 }, 4)).toEqual({})
    expect(resumedWith({ replicas: 4 }, 2)).toEqual({ replicas: 2 })
    expect(resumedWith({ minReplicas: 3, maxReplicas: 8 }, 2)).toEqual({ minReplicas: 2, maxReplicas: 2 })
    expect(resumedWith({ minReplicas: 0, maxReplicas: 8 }, 8)).toEqual({})
  })
  it('computes the replica bounds, or undefined while a field is empty', () => {
    expect(boundsOf(fields({ min: 0, max: 3 }))).toEqual({ least: 0, most: 3 })
    expect(boundsOf(fields({ max: '' }))).toBeUndefined()
  })
})

import { describe, expect, it } from 'vitest'
import { committedBy, costOf, project, replicasThatFit } from './estimate'

const H100 = { gpuType: 'nvidia/h100-sxm-80gb', gpuCount: 4, pricePerGpuHour: '2.50' }
const ledger = (allotment: number, committed: number) => ({
  gpuType: H100.gpuType,
  allotment,
  committed,
  headroom: allotment - committed,
  utilization: committed / allotment,
})

describe('commitment and cost of replicas', () => {
  it('commits the maximum, even if the minimum is zero', () => {
    expect(committedBy({ least: 0, most: 3 }, 4)).toBe(12)
  })
  it('ranges from minimum to maximum, per hour and month', () => {
    expect(costOf({ least: 0, most: 3 }, H100)).toEqual({
      hour: ['0.000000000', '30.000000000'],
      month: ['0.000000000', '21900.000000000'],
    })
  })
  it('keeps every digit of a small price', () => {
    expect(costOf({ least: 3, most: 3 }, { ...H100, gpuCount: 1, pricePerGpuHour: '0.000000001' })?.month[0]).toBe(
      '0.000002190',
    )
  })
  it('is undefined if the price is not a number', () => {
    expect(costOf({ least: 1, most: 1 }, { ...H100, pricePerGpuHour: 'free' })).toBeUndefined()
  })
})

describe('the ledger after a change', () => {
  it('reports how many GPUs are missing', () => {
    expect(project(ledger(16, 12), 6)).toMatchObject({ committed: 12, added: 6, need: 2, free: 0 })
  })
  it('fits exactly at the allotment', () => {
    expect(project(ledger(16, 12), 4)).toMatchObject({ need: 0, free: 0 })
  })
  it('excludes the current commitment of the endpoint', () => {
    expect(project(ledger(16, 14), 12, 8)).toMatchObject({ committed: 6, added: 12, need: 2 })
  })
  it('allows reductions even above a lowered allotment', () => {
    expect(project(ledger(10, 14), 1, 2)).toMatchObject({ need: 0, free: 0 })
  })
  it('counts the replicas that fit', () => {
    expect([
      replicasThatFit(ledger(16, 9), 4),
      replicasThatFit(ledger(10, 14), 1),
      replicasThatFit(ledger(16, 16), 4, 8),
    ]).toEqual([1, 0, 2])
  })
})

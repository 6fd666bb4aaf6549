import { expect, it } from 'vitest'
import { calls, isMany } from './metrics'

it('labels each step of an axis differently, also for averages far below one', () => {
  expect([0.02, 0.015, 0.01, 0.005, 0].map(calls)).toEqual(['0.02', '0.015', '0.01', '0.005', '0'])
  expect([1, 550, 1_100].map(calls)).toEqual(['1', '550', '1.1K'])
})

it('shows failed calls in red once they are many', () => {
  expect([isMany(0, 0), isMany(1, 1_000), isMany(196, 197)]).toEqual([false, false, true])
})

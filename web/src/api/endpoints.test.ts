import { expect, it } from 'vitest'
import { endpointsQuery } from './endpoints'

it('polls a list of several pages less often', () => {
  const intervalOf = endpointsQuery('ws').refetchInterval as unknown as (query: {
    state: { data?: object[] }
  }) => number
  const interval = (length: number) => intervalOf({ state: { data: Array(length).fill({}) } })
  expect([intervalOf({ state: {} }), interval(100), interval(101)]).toEqual([3_000, 3_000, 30_000])
})

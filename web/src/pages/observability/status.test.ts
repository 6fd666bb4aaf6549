import { expect, test } from 'vitest'
import { failoverText } from './status'

test('a stream says how often it went on at another replica', () => {
  expect([0, 1, 2].map(failoverText)).toEqual([
    'none',
    'went on at another replica once; the last one is shown',
    'went on at another replica 2 times; the last one is shown',
  ])
})

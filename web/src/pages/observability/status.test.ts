import { expect, test } from 'vitest'
import { failoverText, toneOfStatus } from './status'

test('a client that left is not an error, and a stream that broke is one', () => {
  expect([toneOfStatus(499, 'client_gone'), toneOfStatus(200, 'bad_gateway')]).toEqual(['idle', 'bad'])
})

test('a stream says how often it continued at another replica', () => {
  expect([0, 1, 2].map(failoverText)).toEqual([
    'none',
    'continued at another replica once; the last one is shown',
    'continued at another replica 2 times; the last one is shown',
  ])
})

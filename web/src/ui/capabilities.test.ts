import { expect, test } from 'vitest'
import { knownRows, labelOf } from './capabilities'

test('only what is known is shown, in one order', () => {
  expect(knownRows({ tools: false, chat: true })).toEqual([
    { name: 'chat', support: 'yes' },
    { name: 'tools', support: 'no' },
  ])
  expect(knownRows({})).toEqual([])
})

test('a capability of a newer server is shown by its name', () => {
  expect([labelOf('json_schema'), labelOf('telepathy')]).toEqual(['JSON schema', 'telepathy'])
})

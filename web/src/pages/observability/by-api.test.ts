import { describe, expect, it } from 'vitest'
import type { UsageLine } from '../../api/costs'
import { byApi } from './by-api'

const line = (surface: string | null, model: string, key: string | null, requests: number) =>
  ({ surface, model, key, user: key ? null : 'usr_1', requests, promptTokens: 10, completionTokens: 1 }) as UsageLine

const usage = [
  line('chat', 'acme/a', 'key_1', 1),
  line('messages', 'acme/a', 'key_1', 5),
  line('chat', 'dedicated/x', null, 2),
  line(null, 'acme/a', 'key_2', 1),
]
const calls = (filter: Parameters<typeof byApi>[1]) =>
  byApi(usage, filter).map(({ surface, requests }) => [surface, requests])

describe('usage by API', () => {
  it('adds up the calls of each API, most calls first', () =>
    expect(calls({})).toEqual([
      ['messages', 5],
      ['chat', 3],
      ['', 1],
    ]))
  it('counts only the selected model, endpoint, caller or API', () => {
    expect(calls({ model: 'acme/a', key: 'key_1' })).toEqual([
      ['messages', 5],
      ['chat', 1],
    ])
    expect(calls({ endpoint: 'x' })).toEqual([['chat', 2]])
    expect(calls({ key: 'usr_1' })).toEqual([['chat', 2]])
    expect(calls({ surface: 'messages' })).toEqual([['messages', 5]])
  })
})

import { describe, expect, it } from 'vitest'
import { appliesToEndpoints, lineName, targetOf, targetValue } from './targets'

describe('the target of calls', () => {
  it('is a model or an endpoint, and survives a round trip through the URL', () => {
    for (const value of ['model:acme/tiny', 'endpoint:chat-prod', null])
      expect(targetValue(targetOf(value))).toBe(value)
    expect(targetOf('endpoint:chat-prod')).toEqual({ model: '', endpoint: 'chat-prod' })
  })
  it('labels a chart line', () => {
    const callerNameOf = (id: string | null | undefined) => `name of ${id}`
    const line = { values: {}, total: {} }
    expect(lineName({ ...line, key: 'key_1', user: null }, callerNameOf)).toBe('name of key_1')
    expect(lineName({ ...line, key: null, user: 'usr_1' }, callerNameOf)).toBe('name of usr_1')
    expect(lineName({ ...line, model: null }, callerNameOf)).toBe('unknown model')
    expect(lineName({ ...line, replica: 'rep_1' }, callerNameOf)).toBe('rep_1')
    expect(lineName({ ...line, others: true }, callerNameOf)).toBe('All others')
  })
  it('has no endpoint metrics when filtered by key, model or API', () => {
    expect([
      appliesToEndpoints({}),
      appliesToEndpoints({ key: 'key_1' }),
      appliesToEndpoints({ model: 'a/b' }),
      appliesToEndpoints({ surface: 'messages' }),
      appliesToEndpoints({ endpoint: 'chat-prod' }),
    ]).toEqual([true, false, false, false, true])
  })
})

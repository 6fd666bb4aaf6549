import { describe, expect, it } from 'vitest'
import { choiceOf, knowsEndpoints, lineName, targetOf } from './targets'

describe('what calls are about', () => {
  it('is a model or an endpoint, and goes into the address and back', () => {
    for (const value of ['model:acme/tiny', 'endpoint:chat-prod', null]) expect(choiceOf(targetOf(value))).toBe(value)
    expect(targetOf('endpoint:chat-prod')).toEqual({ model: '', endpoint: 'chat-prod' })
  })
  it('names the line of a chart', () => {
    const named = (id: string | null | undefined) => `name of ${id}`
    const line = { values: {}, total: {} }
    expect(lineName({ ...line, key: 'key_1', user: null }, named)).toBe('name of key_1')
    expect(lineName({ ...line, key: null, user: 'usr_1' }, named)).toBe('name of usr_1')
    expect(lineName({ ...line, model: null }, named)).toBe('no such model')
    expect(lineName({ ...line, others: true }, named)).toBe('All others')
  })
  it('asks endpoints nothing of keys and models', () => {
    expect([knowsEndpoints({}), knowsEndpoints({ key: 'key_1' }), knowsEndpoints({ model: 'a/b' })]).toEqual([
      true,
      false,
      false,
    ])
  })
})

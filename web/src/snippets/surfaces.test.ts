import { describe, expect, it } from 'vitest'
import { bodyFor, droppedMembers, toMessages, toResponses } from './surfaces'

const user = { role: 'user', content: 'Hello' }
const chat = {
  model: 'acme/one',
  messages: [{ role: 'system', content: 'Be brief.' }, user, { role: 'developer', content: 'No lists.' }],
  stop: ['\n'],
  temperature: 0,
  max_tokens: 9,
  seed: 7,
  stream: true,
  stream_options: { include_usage: true },
}

describe('a chat for other APIs', () => {
  it('is unchanged for chat completions', () => expect(bodyFor('chat', chat)).toBe(chat))

  it('becomes a request of the Messages API', () =>
    expect(toMessages(chat)).toEqual({
      model: 'acme/one',
      max_tokens: 9,
      system: 'Be brief.\nNo lists.',
      messages: [user],
      stop_sequences: ['\n'],
      temperature: 0,
      stream: true,
    }))

  it('has a maximum for the Messages API, which requires one', () =>
    expect(toMessages({ model: 'm', messages: [user] })).toEqual({ model: 'm', max_tokens: 4096, messages: [user] }))

  it('becomes a request of the Responses API that is not stored', () =>
    expect(toResponses(chat)).toEqual({
      model: 'acme/one',
      instructions: 'Be brief.\nNo lists.',
      input: [user],
      max_output_tokens: 9,
      temperature: 0,
      store: false,
      stream: true,
    }))

  it('names the members that are lost', () => {
    expect(droppedMembers('chat', chat)).toEqual([])
    expect(droppedMembers('messages', chat)).toEqual(['seed'])
    expect(droppedMembers('responses', chat)).toEqual(['seed', 'stop'])
    expect(droppedMembers('responses', { model: 'm', seed: null })).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { type Conversation, emptyConversation, withPrompt } from './conversation'
import {
  deleteConversation,
  loadConversations,
  MAX_CHARS,
  MAX_CONVERSATIONS,
  saveConversation,
  withinBounds,
} from './stored-conversations'

const conversation = (id: string, at: number, prompt = 'Hello'): Conversation =>
  withPrompt(emptyConversation(id), { id: 't', prompt }, { models: ['m'], system: '', parameters: {} }, at)

function storageWith(text?: string) {
  const stored = new Map<string, string>(text === undefined ? [] : [['k', text]])
  return {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  }
}

describe('stored conversations', () => {
  it('are loaded newest first, with streams stopped', () => {
    const storage = storageWith()
    saveConversation(storage, 'k', conversation('a', 1))
    saveConversation(storage, 'k', conversation('b', 2))
    saveConversation(storage, 'k', conversation('a', 3))
    expect(loadConversations(storage, 'k').map((one) => one.id)).toEqual(['a', 'b'])
    expect(loadConversations(storage, 'k')[0]?.turns[0]?.answers[0]?.state).toBe('stopped')
    deleteConversation(storage, 'k', 'a')
    expect(loadConversations(storage, 'k').map((one) => one.id)).toEqual(['b'])
  })

  it('are bounded in number and size; the oldest are dropped', () => {
    const many = Array.from({ length: MAX_CONVERSATIONS + 5 }, (_, index) => conversation(`c${index}`, index))
    expect(withinBounds(many)).toHaveLength(MAX_CONVERSATIONS)
    expect(withinBounds(many)[0]?.id).toBe(`c${MAX_CONVERSATIONS + 4}`)
    const large = [conversation('new', 2, 'x'.repeat(MAX_CHARS / 2)), conversation('old', 1, 'x'.repeat(MAX_CHARS / 2))]
    expect(withinBounds(large).map((one) => one.id)).toEqual(['new'])
  })

  it('are ignored if malformed, and not stored if empty', () => {
    for (const text of [
      '{',
      '7',
      '{"a":1}',
      '[null,{"id":"x"},{"id":"y","updatedAt":1,"system":"","models":[],"turns":[{}]}]',
    ])
      expect(loadConversations(storageWith(text), 'k')).toEqual([])
    const storage = storageWith()
    saveConversation(storage, 'k', emptyConversation('a'))
    expect(loadConversations(storage, 'k')).toEqual([])
  })

  it('are not stored if the storage is full', () => {
    const full = {
      ...storageWith(),
      setItem: () => {
        throw new Error('QuotaExceededError')
      },
    }
    expect(() => saveConversation(full, 'k', conversation('a', 1))).not.toThrow()
  })
})

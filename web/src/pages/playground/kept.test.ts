import { describe, expect, it } from 'vitest'
import { type Conversation, emptyConversation, withPrompt } from './conversation'
import { forget, keep, MAX_CHARS, MAX_CONVERSATIONS, readKept, withinBounds } from './kept'

const said = (id: string, at: number, prompt = 'Hello'): Conversation =>
  withPrompt(emptyConversation(id), { id: 't', prompt }, { models: ['m'], system: '', parameters: {} }, at)

function shelfWith(text?: string) {
  const kept = new Map<string, string>(text === undefined ? [] : [['k', text]])
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  }
}

describe('kept conversations', () => {
  it('come back, at rest, the newest first', () => {
    const shelf = shelfWith()
    keep(shelf, 'k', said('a', 1))
    keep(shelf, 'k', said('b', 2))
    keep(shelf, 'k', said('a', 3))
    expect(readKept(shelf, 'k').map((one) => one.id)).toEqual(['a', 'b'])
    expect(readKept(shelf, 'k')[0]?.turns[0]?.answers[0]?.state).toBe('stopped')
    forget(shelf, 'k', 'a')
    expect(readKept(shelf, 'k').map((one) => one.id)).toEqual(['b'])
  })

  it('are bounded in number and size: the oldest give way', () => {
    const many = Array.from({ length: MAX_CONVERSATIONS + 5 }, (_, index) => said(`c${index}`, index))
    expect(withinBounds(many)).toHaveLength(MAX_CONVERSATIONS)
    expect(withinBounds(many)[0]?.id).toBe(`c${MAX_CONVERSATIONS + 4}`)
    const large = [said('new', 2, 'x'.repeat(MAX_CHARS / 2)), said('old', 1, 'x'.repeat(MAX_CHARS / 2))]
    expect(withinBounds(large).map((one) => one.id)).toEqual(['new'])
  })

  it('are nothing when the shelf has something else, and an empty one is not kept', () => {
    for (const text of [
      '{',
      '7',
      '{"a":1}',
      '[null,{"id":"x"},{"id":"y","updatedAt":1,"system":"","models":[],"turns":[{}]}]',
    ])
      expect(readKept(shelfWith(text), 'k')).toEqual([])
    const shelf = shelfWith()
    keep(shelf, 'k', emptyConversation('a'))
    expect(readKept(shelf, 'k')).toEqual([])
  })

  it('do without a shelf that is full', () => {
    const full = {
      ...shelfWith(),
      setItem: () => {
        throw new Error('QuotaExceededError')
      },
    }
    expect(() => keep(full, 'k', said('a', 1))).not.toThrow()
  })
})

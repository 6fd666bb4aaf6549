import { describe, expect, it } from 'vitest'
import {
  type ChatSetup,
  emptyConversation,
  isStreaming,
  messagesFor,
  requestFor,
  titleOf,
  withoutLastTurn,
  withProgress,
  withPrompt,
  withStreamsStopped,
} from './conversation'

const setup: ChatSetup = { models: ['acme/one'], system: 'Be brief', parameters: { temperature: 0, stop: [] } }
const two: ChatSetup = { ...setup, models: ['acme/one', 'acme/two'] }

const withQuestion = (prompt = 'Hello', chatSetup = setup) =>
  withPrompt(emptyConversation('c'), { id: 't1', prompt }, chatSetup, 7)

describe('a conversation', () => {
  it('has a streaming answer per model', () => {
    const conversation = withQuestion('Hello', two)
    expect(conversation.turns[0]?.answers.map(({ model, state }) => [model, state])).toEqual([
      ['acme/one', 'streaming'],
      ['acme/two', 'streaming'],
    ])
    expect(isStreaming(conversation)).toBe(true)
    expect(conversation.updatedAt).toBe(7)
  })

  it('applies progress to one lane, and none after its end', () => {
    const done = withProgress(withQuestion('Hello', two), 't1', 1, { text: 'Hi', state: 'done' })
    expect(done.turns[0]?.answers.map((answer) => answer.text)).toEqual(['', 'Hi'])
    const late = withProgress(done, 't1', 1, { text: 'late', state: 'stopped' })
    expect(late.turns[0]?.answers[1]).toMatchObject({ text: 'Hi', state: 'done' })
  })

  it('sends each lane its own history', () => {
    let conversation = withQuestion('One', two)
    conversation = withProgress(conversation, 't1', 0, { text: 'left', state: 'done' })
    conversation = withProgress(conversation, 't1', 1, { text: 'right', state: 'done' })
    conversation = withPrompt(conversation, { id: 't2', prompt: 'Two' }, two, 8)
    expect(messagesFor(conversation.turns, 1, 'Be brief')).toEqual([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'right' },
      { role: 'user', content: 'Two' },
    ])
  })

  it('continues a later lane from the first one, and omits failed answers', () => {
    const first = withProgress(withQuestion('One'), 't1', 0, { text: 'left', state: 'done' })
    const later = withPrompt(first, { id: 't2', prompt: 'Two' }, two, 8)
    expect(messagesFor(later.turns, 1, '').map(({ content }) => content)).toEqual(['One', 'left', 'Two'])
    const failed = withPrompt(
      withProgress(withQuestion('One'), 't1', 0, { state: 'failed' }),
      { id: 't2', prompt: 'Two' },
      setup,
      8,
    )
    expect(messagesFor(failed.turns, 0, ' ').map(({ role }) => role)).toEqual(['user', 'user'])
  })

  it('sends only parameters that are set', () => {
    expect(requestFor(withQuestion().turns, 0, 'acme/one', setup)).toEqual({
      model: 'acme/one',
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hello' },
      ],
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('can drop the last turn, and stops streams when stored', () => {
    expect(withoutLastTurn(withQuestion()).turns).toEqual([])
    expect(withStreamsStopped(withQuestion()).turns[0]?.answers[0]?.state).toBe('stopped')
  })

  it('is named after its first prompt', () => {
    expect(titleOf(emptyConversation('c'))).toBe('New conversation')
    expect(titleOf(withQuestion('  two\n lines '))).toBe('two lines')
    expect(titleOf(withQuestion('x'.repeat(100)))).toBe(`${'x'.repeat(60)}…`)
  })
})

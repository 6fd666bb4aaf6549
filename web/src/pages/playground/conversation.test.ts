import { describe, expect, it } from 'vitest'
import {
  atRest,
  emptyConversation,
  isStreaming,
  messagesFor,
  requestFor,
  type Setup,
  titleOf,
  withoutLastTurn,
  withProgress,
  withPrompt,
} from './conversation'

const setup: Setup = { models: ['acme/one'], system: 'Be brief', parameters: { temperature: 0, stop: [] } }
const two: Setup = { ...setup, models: ['acme/one', 'acme/two'] }

const asked = (prompt = 'Hello', how = setup) => withPrompt(emptyConversation('c'), { id: 't1', prompt }, how, 7)

describe('a conversation', () => {
  it('has an answer on its way for each model', () => {
    const conversation = asked('Hello', two)
    expect(conversation.turns[0]?.answers.map(({ model, state }) => [model, state])).toEqual([
      ['acme/one', 'streaming'],
      ['acme/two', 'streaming'],
    ])
    expect(isStreaming(conversation)).toBe(true)
    expect(conversation.updatedAt).toBe(7)
  })

  it('takes in progress of one lane, and none after the end', () => {
    const done = withProgress(asked('Hello', two), 't1', 1, { text: 'Hi', state: 'done' })
    expect(done.turns[0]?.answers.map((answer) => answer.text)).toEqual(['', 'Hi'])
    const late = withProgress(done, 't1', 1, { text: 'late', state: 'stopped' })
    expect(late.turns[0]?.answers[1]).toMatchObject({ text: 'Hi', state: 'done' })
  })

  it('asks each lane with what was said in it', () => {
    let conversation = asked('One', two)
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

  it('lets a lane that is opened later go on from the first, and leaves out what failed', () => {
    const first = withProgress(asked('One'), 't1', 0, { text: 'left', state: 'done' })
    const later = withPrompt(first, { id: 't2', prompt: 'Two' }, two, 8)
    expect(messagesFor(later.turns, 1, '').map(({ content }) => content)).toEqual(['One', 'left', 'Two'])
    const failed = withPrompt(
      withProgress(asked('One'), 't1', 0, { state: 'failed' }),
      { id: 't2', prompt: 'Two' },
      setup,
      8,
    )
    expect(messagesFor(failed.turns, 0, ' ').map(({ role }) => role)).toEqual(['user', 'user'])
  })

  it('sends only what is set', () => {
    expect(requestFor(asked().turns, 0, 'acme/one', setup)).toEqual({
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

  it('can take back the last turn, and rests when it is kept', () => {
    expect(withoutLastTurn(asked()).turns).toEqual([])
    expect(atRest(asked()).turns[0]?.answers[0]?.state).toBe('stopped')
  })

  it('is named after what was asked first', () => {
    expect(titleOf(emptyConversation('c'))).toBe('New conversation')
    expect(titleOf(asked('  two\n lines '))).toBe('two lines')
    expect(titleOf(asked('x'.repeat(100)))).toBe(`${'x'.repeat(60)}…`)
  })
})

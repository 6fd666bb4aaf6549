import { describe, expect, it } from 'vitest'
import type { ToolCall } from '../../api/inference'
import {
  type ChatSetup,
  emptyConversation,
  isStreaming,
  messagesFor,
  parametersOf,
  requestFor,
  titleOf,
  waitingTurn,
  withCallPart,
  withoutImages,
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

  it('sends images as parts, and the results of tools after the calls', () => {
    const image = 'data:image/png;base64,AA=='
    let conversation = withPrompt(emptyConversation('c'), { id: 't1', prompt: 'Weather?', images: [image] }, setup, 7)
    const parts = [
      { index: 0, id: 'call_1', name: 'get_weather', arguments: '{"city":' },
      { index: 0, id: '', name: '', arguments: '"Ulm"}' },
    ]
    const calls = parts.reduce(withCallPart, [] as ToolCall[])
    conversation = withProgress(conversation, 't1', 0, { calls, state: 'done' })
    const results = [{ id: 'call_1', name: 'get_weather', content: 'rain' }]
    conversation = withPrompt(conversation, { id: 't2', prompt: '', results }, setup, 8)
    expect(messagesFor(conversation.turns, 0, '')).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Weather?' },
          { type: 'image_url', image_url: { url: image } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Ulm"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ])
  })

  it('continues each lane with the results of its own calls, and waits for them', () => {
    const call = (id: string): ToolCall => ({ id, type: 'function', function: { name: 'get_weather', arguments: '' } })
    const [left, right] = [[call('left')], [call('right')]]
    const waiting = () => [0, 1].map((lane) => waitingTurn(conversation.turns, lane)?.id)
    let conversation = withProgress(withQuestion('Weather?', two), 't1', 0, { calls: left, state: 'done' })
    expect(waiting()).toEqual(['t1', undefined])
    conversation = withProgress(conversation, 't1', 1, { calls: right, state: 'done' })
    const results = [{ id: 'right', name: 'get_weather', content: 'rain' }]
    conversation = withPrompt(conversation, { id: 't2', prompt: '', results, lane: 1 }, two, 8)
    expect(conversation.turns[1]?.answers.map(({ state }) => state)).toEqual(['done', 'streaming'])
    expect(waiting()).toEqual(['t1', undefined])
    expect(messagesFor(conversation.turns, 0, '').map(({ role }) => role)).toEqual(['user'])
    expect(messagesFor(conversation.turns, 1, '')).toEqual([
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: right },
      { role: 'tool', tool_call_id: 'right', content: 'rain' },
    ])
  })

  it('leaves out calls of tools that were stopped', () => {
    const calls = [{ id: 'c', type: 'function' as const, function: { name: 'get_weather', arguments: '{"ci' } }]
    const stopped = withProgress(withQuestion(), 't1', 0, { calls, state: 'stopped' })
    expect(waitingTurn(stopped.turns, 0)).toBeUndefined()
    const { turns } = withPrompt(stopped, { id: 't2', prompt: 'Never mind' }, setup, 8)
    expect(messagesFor(turns, 0, '').map(({ content }) => content)).toEqual(['Hello', 'Never mind'])
  })

  it('is stored without images, and says so in the place of a message that only had one', () => {
    const images = ['data:image/png;base64,AA==']
    const shown = withPrompt(emptyConversation('c'), { id: 't1', prompt: '', images }, setup, 7)
    const stored = withoutImages(withoutImages(withProgress(shown, 't1', 0, { text: 'A river.', state: 'done' })))
    expect(stored.turns[0]).toMatchObject({ lostImages: 1 })
    expect(stored.turns[0]).not.toHaveProperty('images')
    const { turns } = withPrompt(stored, { id: 't2', prompt: 'Which one?' }, setup, 8)
    const contents = messagesFor(turns, 0, '').map(({ content }) => content)
    expect(contents).toEqual(['[image not kept]', 'A river.', 'Which one?'])
  })

  it('has parameters of single lanes', () => {
    const lanes = [{}, { temperature: 1, seed: undefined }]
    expect([0, 1].map((lane) => parametersOf({ ...two, lanes }, lane).temperature)).toEqual([0, 1])
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

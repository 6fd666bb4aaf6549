import { describe, expect, it } from 'vitest'
import type { Endpoint } from '../../api/endpoints'
import type { Model } from '../../api/models'
import { blockedReason, suspendedOf } from './blocked-reason'
import { comparedModel, initialModel, modelOptions, optionGroups, tabFor } from './model-options'

const model = (id: string, modality: string, status = 'available') => ({ id, name: id, modality, status }) as Model
const endpoint = (name: string, of: string, state = 'serving') =>
  ({ name, modelId: `dedicated/${name}`, model: of, state }) as Endpoint
const models = [model('a/chat', 'chat', 'unavailable'), model('b/chat', 'chat'), model('c/vectors', 'embedding')]
const endpoints = [endpoint('mine', 'b/chat'), endpoint('near', 'c/vectors'), endpoint('gone', 'z/unknown')]

describe('model options', () => {
  const options = modelOptions(models, endpoints, 'chat')

  it('are all chat models and the endpoints that serve one', () => {
    expect(options.map((option) => option.id)).toEqual(['a/chat', 'b/chat', 'dedicated/mine'])
    expect(modelOptions(models, endpoints, 'embedding').map((option) => option.id)).toEqual([
      'c/vectors',
      'dedicated/near',
    ])
  })

  it('are endpoints in every state in which a call wakes them, and suspended ones, with the state (SPEC 1)', () => {
    const states = ['serving', 'scaled-to-zero', 'provisioning', 'suspended', 'failed', 'deleting']
    const inStates = modelOptions(
      models,
      states.map((state) => endpoint(state, 'b/chat', state)),
      'chat',
    )
    const labels = optionGroups(inStates, '')
      .at(-1)
      ?.items.map(({ label }) => label)
    expect(labels).toEqual([
      'dedicated/serving',
      'dedicated/scaled-to-zero (at zero: a call wakes it)',
      'dedicated/provisioning (starting)',
      'dedicated/suspended (suspended)',
    ])
    expect(blockedReason(['dedicated/scaled-to-zero'], inStates)).toBeUndefined()
    expect(blockedReason(['dedicated/suspended'], inStates)).toMatch(/is suspended. Resume it/)
    expect(suspendedOf(['b/chat', 'dedicated/suspended'], inStates)).toBe('suspended')
    expect(suspendedOf(['b/chat'], inStates)).toBeUndefined()
  })

  it('are called on the tab of their modality, also if a link names another one', () => {
    const all = { chat: options, embedding: modelOptions(models, endpoints, 'embedding') }
    const tabs = { chat: 'chat', embedding: 'embeddings' }
    expect(tabFor('chat', tabs, all, 'dedicated/near')).toBe('embeddings')
    expect(tabFor('embeddings', tabs, all, 'b/chat')).toBe('chat')
    expect(tabFor('embeddings', tabs, all, '')).toBe('embeddings')
  })

  it('start with the model from the URL, or the first available one', () => {
    expect(initialModel(options, 'dedicated/mine')).toBe('dedicated/mine')
    expect(initialModel(options, '')).toBe('b/chat')
    expect(initialModel([], '')).toBe('')
  })

  it('are compared with another one that is available', () => {
    expect(comparedModel(options, 'b/chat')).toBe('dedicated/mine')
    expect(comparedModel(options, 'dedicated/mine')).toBe('b/chat')
    expect(comparedModel(options.slice(0, 2), 'b/chat')).toBe('b/chat')
  })

  it('include the selected model even if it is missing, and explain why it cannot be called', () => {
    expect(optionGroups(options, 'x/gone').at(-1)).toEqual({
      group: 'Not available here',
      items: [{ value: 'x/gone', label: 'x/gone' }],
    })
    expect(blockedReason(['b/chat'], options)).toBeUndefined()
    expect(blockedReason(['b/chat', 'x/gone'], options)).toMatch(/x\/gone does not exist/)
    expect(blockedReason(['a/chat'], options)).toMatch(/currently unavailable/)
  })
})

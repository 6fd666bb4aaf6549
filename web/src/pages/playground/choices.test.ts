import { describe, expect, it } from 'vitest'
import type { ServingEndpoint } from '../../api/inference'
import type { Model } from '../../api/models'
import { choicesOf, groupsOf, startingChoice } from './choices'
import { whyNotSend } from './why-not'

const model = (id: string, modality: string, status = 'available') => ({ id, name: id, modality, status }) as Model
const endpoint = (name: string, of: string) => ({ name, modelId: `dedicated/${name}`, model: of }) as ServingEndpoint
const models = [model('a/chat', 'chat', 'unavailable'), model('b/chat', 'chat'), model('c/vectors', 'embedding')]
const endpoints = [endpoint('mine', 'b/chat'), endpoint('near', 'c/vectors'), endpoint('gone', 'z/unknown')]

describe('what can be called', () => {
  const choices = choicesOf(models, endpoints, 'chat')

  it('is every chat model and the endpoints that serve one', () => {
    expect(choices.map((choice) => choice.id)).toEqual(['a/chat', 'b/chat', 'dedicated/mine'])
    expect(choicesOf(models, endpoints, 'embedding').map((choice) => choice.id)).toEqual([
      'c/vectors',
      'dedicated/near',
    ])
  })

  it('begins with what the address names, else with one that answers', () => {
    expect(startingChoice(choices, 'dedicated/mine')).toBe('dedicated/mine')
    expect(startingChoice(choices, '')).toBe('b/chat')
    expect(startingChoice([], '')).toBe('')
  })

  it('shows what is chosen also when it is gone, and says why it cannot be asked', () => {
    expect(groupsOf(choices, 'x/gone').at(-1)).toEqual({
      group: 'Not available here',
      items: [{ value: 'x/gone', label: 'x/gone' }],
    })
    expect(whyNotSend(['b/chat'], choices)).toBeUndefined()
    expect(whyNotSend(['b/chat', 'x/gone'], choices)).toMatch(/x\/gone is not there/)
    expect(whyNotSend(['a/chat'], choices)).toMatch(/unavailable now/)
  })
})

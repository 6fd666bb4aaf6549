import { describe, expect, it } from 'vitest'
import { STATES } from '../states'
import { endpointCan } from './can'

const statesOf = (action: keyof typeof endpointCan) => STATES.filter((state) => !endpointCan[action]({ state }))

describe('what may be done to an endpoint', () => {
  it('follows the table of states', () => {
    expect(statesOf('suspend')).toEqual(['provisioning', 'serving', 'scaled-to-zero', 'failed'])
    expect(statesOf('resume')).toEqual(['suspended', 'failed'])
    expect(statesOf('scale')).toEqual(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'])
    expect(statesOf('delete')).toEqual(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'])
    expect(statesOf('call')).toEqual(['provisioning', 'serving', 'scaled-to-zero'])
  })
  it('says why not', () => {
    expect(endpointCan.suspend({ state: 'suspended' })).toBe('The endpoint is already suspended')
    expect(endpointCan.resume({ state: 'serving' })).toBe('Only a suspended or failed endpoint can be resumed')
  })
  it('allows nothing while the endpoint is being deleted, nor in a state it does not know', () => {
    for (const check of Object.values(endpointCan)) {
      expect(check({ state: 'deleting' })).toBe('The endpoint is being deleted')
      expect(check({ state: 'on-fire' })).toBeTruthy()
    }
  })
})

import { describe, expect, it } from 'vitest'
import { STATES } from '../states'
import { endpointCan } from './can'

const statesOf = (action: keyof typeof endpointCan) => STATES.filter((state) => !endpointCan[action]({ state }))

describe('actions on an endpoint', () => {
  it('depend on its state', () => {
    expect(statesOf('suspend')).toEqual(['provisioning', 'serving', 'scaled-to-zero', 'failed'])
    expect(statesOf('resume')).toEqual(['suspended', 'failed'])
    expect(statesOf('scale')).toEqual(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'])
    expect(statesOf('delete')).toEqual(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'])
    expect(statesOf('call')).toEqual(['provisioning', 'serving', 'scaled-to-zero'])
  })
  it('give a reason when unavailable', () => {
    expect(endpointCan.suspend({ state: 'suspended' })).toBe('The endpoint is already suspended')
    expect(endpointCan.resume({ state: 'serving' })).toBe('Only a suspended or failed endpoint can be resumed')
  })
  it('are unavailable while it is being deleted, and in unknown states', () => {
    for (const check of Object.values(endpointCan)) {
      expect(check({ state: 'deleting' })).toBe('The endpoint is being deleted')
      expect(check({ state: 'on-fire' })).toBeTruthy()
    }
  })
})

import { describe, expect, it } from 'vitest'
import { doneSteps } from './steps'

describe('first steps', () => {
  it('are done one by one', () => {
    expect(doneSteps({ models: 0, keys: 0, calls: 0 })).toEqual({ model: false, key: false, call: false })
    expect(doneSteps({ models: 2, keys: 1, calls: 0 })).toEqual({ model: true, key: true, call: false })
  })
})

import { describe, expect, it } from 'vitest'
import { nameFault } from './name'

describe('names of endpoints', () => {
  it('follow the rule of the API', () => {
    for (const right of ['a', 'chat-prod', `a${'b'.repeat(62)}`]) expect(nameFault(right)).toBeUndefined()
    for (const wrong of ['', '1a', 'A', 'a-', 'a_b', `a${'b'.repeat(63)}`, 'flavors', 'new']) {
      expect(nameFault(wrong)).toBeTruthy()
    }
  })
})

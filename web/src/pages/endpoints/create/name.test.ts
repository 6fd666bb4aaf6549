import { describe, expect, it } from 'vitest'
import { nameError } from './name'

describe('endpoint names', () => {
  it('follow the rules of the API', () => {
    for (const valid of ['a', 'chat-prod', `a${'b'.repeat(62)}`]) expect(nameError(valid)).toBeUndefined()
    for (const invalid of ['', '1a', 'A', 'a-', 'a_b', `a${'b'.repeat(63)}`, 'flavors', 'new']) {
      expect(nameError(invalid)).toBeTruthy()
    }
  })
})

import { expect, test } from 'vitest'
import { retentionText } from './retention'

test('the retention of responses is a sentence', () => {
  expect(retentionText(null)).toBe('Responses are not stored.')
  expect(retentionText(1)).toBe('Responses are stored for 1 day.')
  expect(retentionText(30)).toBe('Responses are stored for 30 days.')
})

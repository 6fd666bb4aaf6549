import { expect, it } from 'vitest'
import { whyNotDeleted } from './workspaces'

it('deletes neither the last workspace nor the current one', () => {
  const [one, other] = [{ id: 'a' }, { id: 'b' }]
  expect(whyNotDeleted(one, [one], undefined)).toMatch(/last workspace/)
  expect(whyNotDeleted(one, [one, other], 'a')).toMatch(/Switch to another/)
  expect(whyNotDeleted(other, [one, other], 'a')).toBeUndefined()
})

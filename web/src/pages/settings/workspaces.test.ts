import { expect, it } from 'vitest'
import { keysByWorkspace, whyNotDeleted } from './workspaces'

it('counts the keys in use of each workspace', () => {
  const states = ['active', 'disabled', 'revoked', 'expired'] as const
  const keys = states.map((state) => ({ state, workspaceId: state === 'active' ? 'a' : 'b' }))
  expect([...keysByWorkspace(keys)]).toEqual([
    ['a', 1],
    ['b', 1],
  ])
})

it('deletes neither the last workspace nor the current one', () => {
  const [one, other] = [{ id: 'a' }, { id: 'b' }]
  expect(whyNotDeleted(one, [one], undefined)).toMatch(/last workspace/)
  expect(whyNotDeleted(one, [one, other], 'a')).toMatch(/Switch to another/)
  expect(whyNotDeleted(other, [one, other], 'a')).toBeUndefined()
})

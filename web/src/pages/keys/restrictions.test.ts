import { expect, it } from 'vitest'
import { pairTexts, toPairs } from '../../ui/pairs'
import { accessOf, permissionsText, toPermissions } from './restrictions'

it('says in one line what a key may do', () => {
  const key = { permissions: null, allowedModels: null, allowedIps: null }
  expect(accessOf(key)).toBeUndefined()
  expect(accessOf({ ...key, permissions: ['inference'] })).toBe('Calls all models')
  expect(accessOf({ ...key, allowedModels: ['acme/*', 'a', 'b'], allowedIps: ['10.0.0.0/8'] })).toBe(
    'Calls acme/*, a and 1 more, changes endpoints, from 10.0.0.0/8',
  )
  expect(accessOf({ ...key, permissions: ['endpoints:read'], allowedModels: ['a', 'b'] })).toBe('Sees endpoints')
})

it('names the permissions of a key', () => {
  expect(permissionsText({ permissions: ['inference', 'endpoints:read'] })).toBe('Call models; see dedicated endpoints')
  expect(permissionsText({ permissions: null })).toContain('; create, change and delete dedicated endpoints')
})

it('keeps a key unrestricted if every permission is chosen', () => {
  expect(toPermissions(['endpoints:write', 'inference', 'endpoints:read'])).toBeNull()
  expect(toPermissions(['inference'])).toEqual(['inference'])
})

it('reads labels as they are written', () => {
  const labels = { team: 'search', url: 'a=b', flag: '' }
  expect(toPairs(pairTexts(labels))).toEqual(labels)
  expect(toPairs(['team', ' a = b '])).toEqual({ team: '', a: 'b' })
})

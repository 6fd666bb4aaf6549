import { describe, expect, it } from 'vitest'
import { countOf, type KeyAction, keyActionBlocked } from './key-can'

const admin = { userId: 'usr_a', isAdmin: true }
const member = { userId: 'usr_m', isAdmin: false }
const key = (state: 'active' | 'disabled' | 'revoked' | 'expired', createdBy = 'usr_m') => ({ state, createdBy })
const ACTIONS: KeyAction[] = ['edit', 'rotate', 'disable', 'enable', 'revoke']
const allowed = (of: ReturnType<typeof key>, actor: typeof admin) =>
  ACTIONS.filter((action) => !keyActionBlocked(action, of, actor))

describe('actions on a key', () => {
  it('depend on its state', () => {
    expect(allowed(key('active'), admin)).toEqual(['edit', 'rotate', 'disable', 'revoke'])
    expect(allowed(key('disabled'), admin)).toEqual(['edit', 'enable', 'revoke'])
    expect(allowed(key('expired'), admin)).toEqual(['revoke'])
    expect(allowed(key('revoked'), admin)).toEqual([])
  })

  it('depend on the user: members manage their own keys and cannot disable them', () => {
    expect(allowed(key('active'), member)).toEqual(['edit', 'rotate', 'revoke'])
    expect(allowed(key('active', 'usr_other'), member)).toEqual([])
    expect(allowed(key('disabled'), member)).toEqual(['edit'])
    expect(keyActionBlocked('revoke', key('active', 'usr_other'), member)).toMatch(/only keys they created/)
  })

  it('are counted in words', () => {
    expect([countOf(1), countOf(3)]).toEqual(['1 key', '3 keys'])
  })
})

import { describe, expect, it } from 'vitest'
import { countedKeys, type KeyAction, whyNot } from './key-can'

const admin = { userId: 'usr_a', isAdmin: true }
const member = { userId: 'usr_m', isAdmin: false }
const key = (state: 'active' | 'disabled' | 'revoked' | 'expired', createdBy = 'usr_m') => ({ state, createdBy })
const ACTIONS: KeyAction[] = ['rotate', 'disable', 'enable', 'revoke']
const allowed = (of: ReturnType<typeof key>, who: typeof admin) => ACTIONS.filter((action) => !whyNot(action, of, who))

describe('what may be done with a key', () => {
  it('depends on its state', () => {
    expect(allowed(key('active'), admin)).toEqual(['rotate', 'disable', 'revoke'])
    expect(allowed(key('disabled'), admin)).toEqual(['enable'])
    expect(allowed(key('expired'), admin)).toEqual(['revoke'])
    expect(allowed(key('revoked'), admin)).toEqual([])
  })

  it('depends on who asks: members have their own keys, and do not disable', () => {
    expect(allowed(key('active'), member)).toEqual(['rotate', 'revoke'])
    expect(allowed(key('active', 'usr_other'), member)).toEqual([])
    expect(whyNot('revoke', key('active', 'usr_other'), member)).toMatch(/only the keys that they created/)
  })

  it('counts towards the limit while it works or could again', () => {
    expect(countedKeys([key('active'), key('disabled'), key('revoked'), key('expired')])).toBe(2)
  })
})

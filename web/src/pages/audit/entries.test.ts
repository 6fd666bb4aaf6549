import { describe, expect, it } from 'vitest'
import { aboutOf, actorOf, type Chosen, changesOf, filterOf, isFiltered } from './entries'

const none: Chosen = { actor: '', action: '', subject: '', from: '', to: '', scope: 'organization', entry: '' }
const members = (value: object) => value as Record<string, never>

describe('entries of the audit log', () => {
  it('are asked for by whole days, the last one in it', () => {
    expect(filterOf({ ...none, from: '2026-11-01', to: '2026-11-30' })).toMatchObject({
      from: '2026-11-01T00:00:00Z',
      to: '2026-12-01T00:00:00.000Z',
    })
  })

  it('are filtered by what is said, and not by spaces', () => {
    expect(isFiltered({ ...none, action: '  ', scope: 'platform', entry: 'aud_1' })).toBe(false)
    expect(isFiltered({ ...none, action: 'key.revoke' })).toBe(true)
  })

  it('show what changed, and not what stayed', () => {
    const before = members({ name: 'a', requestsPerMinute: 10, gone: true })
    const after = members({ name: 'a', requestsPerMinute: 5, tags: ['x'] })
    expect(changesOf({ before, after })).toEqual([
      { member: 'requestsPerMinute', before: '10', after: '5' },
      { member: 'gone', before: 'true', after: undefined },
      { member: 'tags', before: undefined, after: '["x"]' },
    ])
    expect(changesOf({ before: null, after: members({ name: 'new' }) })).toHaveLength(1)
    expect(changesOf({})).toEqual([])
  })

  it('are about what they say, or about what their record is called', () => {
    const entry = { detail: '', before: members({ name: 'old' }), after: members({ name: 'new', state: 'active' }) }
    expect(aboutOf(entry)).toBe('new')
    expect(aboutOf({ ...entry, detail: 'said' })).toBe('said')
    expect(aboutOf({ detail: '', before: null, after: members({ email: 'ada@example.com' }) })).toBe('ada@example.com')
    expect(aboutOf({ detail: '', before: null, after: null })).toBe('–')
  })

  it('tell an actor by its address, by the name of the key, or by its id', () => {
    const entry = { actor: 'key_1', actorEmail: null, actorKeyName: null } as Parameters<typeof actorOf>[0]
    expect(actorOf(entry)).toBe('key_1')
    expect(actorOf({ ...entry, actorKeyName: 'ci' })).toBe('Key ci')
    expect(actorOf({ ...entry, actor: 'usr_1', actorEmail: 'ada@example.com' })).toBe('ada@example.com')
  })
})

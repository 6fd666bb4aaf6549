import { describe, expect, it } from 'vitest'
import { type AuditFilterValues, actorOf, changesOf, filterOf, isFiltered, summaryOf } from './entries'

const unfiltered: AuditFilterValues = {
  actor: '',
  action: '',
  subject: '',
  from: '',
  to: '',
  scope: 'organization',
  entry: '',
}
const members = (value: object) => value as Record<string, never>

describe('audit log entries', () => {
  it('are filtered by whole days, including the last one', () => {
    expect(filterOf({ ...unfiltered, from: '2026-11-01', to: '2026-11-30' })).toMatchObject({
      from: '2026-11-01T00:00:00Z',
      to: '2026-12-01T00:00:00.000Z',
    })
  })

  it('are not filtered by blank values', () => {
    expect(isFiltered({ ...unfiltered, action: '  ', scope: 'platform', entry: 'aud_1' })).toBe(false)
    expect(isFiltered({ ...unfiltered, action: 'key.revoke' })).toBe(true)
  })

  it('list only changed values', () => {
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

  it('are summarized by their detail, or by the name of their record', () => {
    const entry = { detail: '', before: members({ name: 'old' }), after: members({ name: 'new', state: 'active' }) }
    expect(summaryOf(entry)).toBe('new')
    expect(summaryOf({ ...entry, detail: 'text' })).toBe('text')
    expect(summaryOf({ detail: '', before: null, after: members({ email: 'ada@example.com' }) })).toBe(
      'ada@example.com',
    )
    expect(summaryOf({ detail: '', before: null, after: null })).toBe('–')
  })

  it('name the actor by email, by key name, or by id', () => {
    const entry = { actor: 'key_1', actorEmail: null, actorKeyName: null } as Parameters<typeof actorOf>[0]
    expect(actorOf(entry)).toBe('key_1')
    expect(actorOf({ ...entry, actorKeyName: 'ci' })).toBe('Key ci')
    expect(actorOf({ ...entry, actor: 'usr_1', actorEmail: 'ada@example.com' })).toBe('ada@example.com')
  })
})

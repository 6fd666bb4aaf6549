import { describe, expect, it } from 'vitest'
import { formatDay, formatMinute } from './format'
import { parseDay, parseTime } from './typed-time'

describe('typed times', () => {
  it('are read in the format that is shown', () => {
    for (const month of [1, 5, 9, 11]) {
      const at = new Date(2026, month - 1, 7, 16, 19).toISOString()
      expect(parseTime(formatMinute(at))).toBe(at)
      const day = `2026-${String(month).padStart(2, '0')}-07`
      expect(parseDay(formatDay(day))).toBe(day)
    }
  })
  it('are read in digits, too', () => {
    const at = new Date(2026, 10, 17, 9, 5).toISOString()
    expect([parseTime('2026-11-17 09:05'), parseTime('2026-11-17T09:05'), parseTime('17 november 2026 9:05')]).toEqual([
      at,
      at,
      at,
    ])
    expect(parseDay('2026-11-17')).toBe('2026-11-17')
  })
  it('must exist', () => {
    for (const text of ['', 'yesterday', '31 Feb 2026, 10:00', '1 Foo 2026', '2026-13-01', '17 Nov 2026, 25:00'])
      expect([parseTime(text), parseDay(text)]).toEqual([undefined, undefined])
    expect(parseDay('17 Nov 2026, 16:19')).toBeUndefined()
  })
})

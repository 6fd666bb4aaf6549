import { describe, expect, it } from 'vitest'
import { isFixed, isReversed, windowOf, zoomTo } from './time-range'

const ZOOM = { from: '2026-11-15T10:00:00.000Z', to: '2026-11-15T10:05:00.000Z' }
const START = Date.parse(ZOOM.from)

describe('the time range of a chart', () => {
  it('ends now and is refetched, unless it is zoomed', () => {
    expect(windowOf({ span: '1h', from: '', to: '' })).toEqual({ spanMs: 3_600_000, liveMs: 5_000 })
    expect(windowOf({ span: '1h', ...ZOOM })).toEqual(ZOOM)
  })
  it('is refetched less often if it is long', () => {
    expect(windowOf({ span: '30d', from: '', to: '' }).liveMs).toBe(60_000)
  })
  it('ends now if it has a start only', () => {
    const since = (minutes: number) => windowOf({ span: '30d', from: ZOOM.from, to: '' }, START + minutes * 60_000)
    expect(since(1)).toEqual({ from: ZOOM.from, liveMs: 5_000 })
    expect([since(90).liveMs, since(60 * 24 * 365).liveMs]).toEqual([22_500, 60_000])
  })
  it('is reported if it is reversed, and not while it is incomplete', () => {
    expect(isReversed({ span: '1h', from: ZOOM.to, to: ZOOM.from })).toBe(true)
    expect(isReversed({ span: '1h', from: ZOOM.from, to: '' }, START - 1)).toBe(true)
    expect(isReversed({ span: '1h', from: ZOOM.from, to: '' }, START + 1)).toBe(false)
    expect(isReversed({ span: '1h', from: '', to: ZOOM.to })).toBe(false)
    expect(isReversed({ span: '1h', ...ZOOM })).toBe(false)
  })
  it('is fixed if it has a start or an end', () => {
    expect(isFixed({ span: '1h', from: ZOOM.to, to: ZOOM.from })).toBe(true)
    expect(isFixed({ span: '1h', from: '', to: '' })).toBe(false)
  })
  it('is written as RFC 3339 times', () => expect(zoomTo(Date.parse(ZOOM.from), Date.parse(ZOOM.to))).toEqual(ZOOM))
})

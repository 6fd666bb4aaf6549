import { describe, expect, it } from 'vitest'
import { isReversed, isZoomed, windowOf, zoomTo } from './time-range'

const ZOOM = { from: '2026-11-15T10:00:00.000Z', to: '2026-11-15T10:05:00.000Z' }

describe('the time range of a chart', () => {
  it('ends now and is refetched, unless it is zoomed', () => {
    expect(windowOf({ span: '1h', from: '', to: '' })).toEqual({ spanMs: 3_600_000, liveMs: 5_000 })
    expect(windowOf({ span: '1h', ...ZOOM })).toEqual(ZOOM)
  })
  it('is refetched less often if it is long', () => {
    expect(windowOf({ span: '30d', from: '', to: '' }).liveMs).toBe(60_000)
  })
  it('is not zoomed if it is incomplete or reversed', () => {
    expect(isZoomed({ span: '1h', from: ZOOM.from, to: '' })).toBe(false)
    expect(isZoomed({ span: '1h', from: ZOOM.to, to: ZOOM.from })).toBe(false)
  })
  it('is reported if it is reversed, and not while it is incomplete', () => {
    expect(isReversed({ span: '1h', from: ZOOM.to, to: ZOOM.from })).toBe(true)
    expect(isReversed({ span: '1h', from: ZOOM.from, to: '' })).toBe(false)
    expect(isReversed({ span: '1h', ...ZOOM })).toBe(false)
  })
  it('is written as RFC 3339 times', () => expect(zoomTo(Date.parse(ZOOM.from), Date.parse(ZOOM.to))).toEqual(ZOOM))
})

import { describe, expect, it } from 'vitest'
import { fromLocalField, isZoomed, toLocalField, windowOf, zoomTo } from './spans'

const ZOOM = { from: '2026-11-15T10:00:00.000Z', to: '2026-11-15T10:05:00.000Z' }

describe('the span of a chart', () => {
  it('ends now and is asked for again, unless it was zoomed', () => {
    expect(windowOf({ span: '1h', from: '', to: '' })).toEqual({ spanMs: 3_600_000, liveMs: 5_000 })
    expect(windowOf({ span: '1h', ...ZOOM })).toEqual(ZOOM)
  })
  it('is asked for no more often than a point is long', () => {
    expect(windowOf({ span: '30d', from: '', to: '' }).liveMs).toBe(60_000)
  })
  it('is no zoom when it is half or turned round', () => {
    expect(isZoomed({ span: '1h', from: ZOOM.from, to: '' })).toBe(false)
    expect(isZoomed({ span: '1h', from: ZOOM.to, to: ZOOM.from })).toBe(false)
  })
  it('is written as moments', () => expect(zoomTo(Date.parse(ZOOM.from), Date.parse(ZOOM.to))).toEqual(ZOOM))
  it('goes into a field and back', () => expect(fromLocalField(toLocalField(ZOOM.from))).toBe(ZOOM.from))
})

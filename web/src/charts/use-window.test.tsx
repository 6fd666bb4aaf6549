// @vitest-environment jsdom
import { renderHook } from '@testing-library/react'
import { expect, it } from 'vitest'
import { useWindow } from './use-window'

const ZOOM = { span: '1h', from: '2026-11-15T10:00:00.000Z', to: '2026-11-15T10:05:00.000Z' } as const

it('keeps the last window while the range is reversed or has no start', () => {
  const { result, rerender } = renderHook(useWindow, { initialProps: ZOOM as Parameters<typeof useWindow>[0] })
  for (const from of ['2026-11-15T11:00:00.000Z', '']) {
    rerender({ ...ZOOM, from })
    expect(result.current).toEqual({ from: ZOOM.from, to: ZOOM.to })
  }
  rerender({ ...ZOOM, from: '', to: '' })
  expect(result.current.spanMs).toBe(3_600_000)
})

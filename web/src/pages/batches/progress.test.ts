import { describe, expect, it } from 'vitest'
import { cancelBlocked, countsText, paceText, rateText, shareOf, stateOf } from './progress'

const NOW = 1_700_000_100_000
const counts = (total: number, completed: number, failed: number) => ({ request_counts: { total, completed, failed } })

describe('a batch that runs', () => {
  it('shows its counts, rate and time left', () => {
    const batch = counts(5_000, 980, 20)
    expect(shareOf(batch)).toBe(0.2)
    expect(countsText(batch)).toBe('1,000 of 5,000 lines, 20 failed')
    expect(paceText({ lines_per_second: 10, estimated_end_at: 1_700_000_500 }, NOW)).toBe('10 lines/s, 6 min 40 s left')
    expect(paceText({ lines_per_second: 10, estimated_end_at: 1_700_000_000 }, NOW)).toBe('10 lines/s, 0 ms left')
  })

  it('has no rate before a line has ended', () => {
    expect(paceText({ lines_per_second: 0, estimated_end_at: null }, NOW)).toBeUndefined()
    expect(paceText({ lines_per_second: null, estimated_end_at: null }, NOW)).toBeUndefined()
  })

  it('can be cancelled', () => expect(cancelBlocked({ status: 'in_progress' })).toBeUndefined())
})

describe('a batch that has ended', () => {
  it('keeps the rate that it had, and has no time left', () => {
    expect(paceText({ lines_per_second: 100, estimated_end_at: null }, NOW)).toBe('100 lines/s')
  })

  it('says why it cannot be cancelled', () => {
    expect(cancelBlocked({ status: 'completed' })).toBe('The batch has ended')
    expect(cancelBlocked({ status: 'finalizing' })).toBe('The batch is ending already')
  })
})

it('shows slow rates per minute, counts of no lines, and states of later versions', () => {
  expect(rateText(0.05)).toBe('3 lines/min')
  expect(rateText(1_234)).toBe('1,200 lines/s')
  expect(countsText(counts(0, 0, 0))).toBe('no lines')
  expect(countsText(counts(1, 0, 0))).toBe('0 of 1 line')
  expect(stateOf('paused')).toMatchObject({ tone: 'idle', label: 'paused' })
})

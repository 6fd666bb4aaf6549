import { describe, expect, it } from 'vitest'
import { ApiError } from './errors'
import { retryDelay, shouldRetry } from './query-client'

const response = (status: number, retryAfter?: string) => ({
  status,
  url: '',
  headers: new Headers(retryAfter ? { 'retry-after': retryAfter } : {}),
})
const unavailable = (retryAfter?: string) => new ApiError('api', { message: '' }, response(503, retryAfter))

describe('retries of the console, by the rules for clients (SPEC 7.3, 7.6)', () => {
  it('honor Retry-After, and wait a random part longer', () => {
    expect(retryDelay(0, unavailable('5'), () => 0)).toBe(5_000)
    expect(retryDelay(0, unavailable('5'), () => 1)).toBe(7_500)
  })
  it('back off with jitter if the response does not say', () => {
    expect([0, 1, 5].map((attempt) => retryDelay(attempt, unavailable(), () => 0))).toEqual([500, 1_000, 4_000])
    expect(retryDelay(0, unavailable(), () => 0.5)).toBe(625)
  })
  it('are made of transient errors only, and not after a long wait', () => {
    expect([shouldRetry(0, unavailable('5')), shouldRetry(2, unavailable('5'))]).toEqual([true, false])
    expect(shouldRetry(0, unavailable('3600'))).toBe(false)
    expect(shouldRetry(0, new ApiError('api', { message: '' }, response(500)))).toBe(false)
  })
})

import { onlineManager } from '@tanstack/react-query'
import { afterEach, expect, it, vi } from 'vitest'
import { connected, connectionLostAt, onConnectionChange, probeDelay, suspectConnection } from './connection'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** A gateway whose health route responds as the list says, and then always. */
function gateway(...responses: boolean[]) {
  vi.useFakeTimers({ now: 1_000_000 })
  const asked = vi.fn(async () => {
    if (responses.shift() === false) throw new TypeError('Failed to fetch')
    return new Response('{}')
  })
  vi.stubGlobal('fetch', asked)
  return asked
}

it('a failed request does not mean a lost connection while the health route responds', async () => {
  const asked = gateway(true)
  const changes = vi.fn()
  const unsubscribe = onConnectionChange(changes)
  suspectConnection()
  suspectConnection()
  await connected()
  unsubscribe()
  expect([asked.mock.calls.length, changes.mock.calls.length, connectionLostAt()]).toEqual([1, 0, undefined])
})

it('queries pause while the connection is lost, and go on by themselves', async () => {
  const asked = gateway(false, false, false)
  const back = connected()
  await vi.advanceTimersByTimeAsync(0)
  expect([connectionLostAt(), onlineManager.isOnline()]).toEqual([1_000_000, false])
  await vi.advanceTimersByTimeAsync(20_000)
  await back
  expect([connectionLostAt(), onlineManager.isOnline(), asked.mock.calls.length]).toEqual([undefined, true, 4])
})

it('attempts back off with a random part', () => {
  expect([0, 1, 2, 9].map((attempt) => probeDelay(attempt, () => 0))).toEqual([1_000, 2_000, 4_000, 15_000])
  expect(probeDelay(0, () => 1)).toBe(1_500)
})

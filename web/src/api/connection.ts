/**
 * Whether the gateway responds. A request that fails in transport raises a suspicion; if the health route fails, too, the
 * connection is lost: queries pause, and the health route is asked until it responds. Then they are fetched again.
 */

import { onlineManager } from '@tanstack/react-query'

const HEALTH = '/healthz'
const PROBE_TIMEOUT_MS = 5_000
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 15_000

/** When the connection was lost; undefined while there is one. */
let lostAt: number | undefined
let probing: Promise<void> | undefined
let wake: (() => void) | undefined
const listeners = new Set<() => void>()

export const connectionLostAt = () => lostAt

export function onConnectionChange(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Reports a request that failed in transport. */
export const suspectConnection = () => void connected()

/** Resolves as soon as the gateway responds, which may be at once. */
export function connected(): Promise<void> {
  probing ??= probe().finally(() => {
    probing = undefined
  })
  return probing
}

/** Asks again at once instead of at the end of the current wait. */
export const retryNow = () => wake?.()

/** The wait before the next attempt: longer each time, and by a random part, so that open pages do not return together. */
export const probeDelay = (attempt: number, random = Math.random) =>
  Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS) * (1 + random() / 2)

async function probe() {
  const since = Date.now()
  for (let attempt = 0; !(await responds()); attempt += 1) {
    if (lostAt === undefined) change(since)
    await pause(probeDelay(attempt))
  }
  if (lostAt !== undefined) change(undefined)
}

async function responds(): Promise<boolean> {
  try {
    const response = await fetch(HEALTH, { cache: 'no-store', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
    return response.ok
  } catch {
    return false
  }
}

function change(lost: number | undefined) {
  lostAt = lost
  // Paused queries are fetched when this turns true.
  onlineManager.setOnline(lost === undefined)
  for (const listener of listeners) listener()
}

const pause = (ms: number) =>
  new Promise<void>((ended) => {
    const timer = setTimeout(ended, ms)
    wake = () => {
      clearTimeout(timer)
      ended()
    }
  })

// The browser's own notice only raises or settles the suspicion: a gateway on this machine responds without a network.
onlineManager.setEventListener(() => {
  if (typeof window === 'undefined') return
  const events = ['online', 'offline'] as const
  const onEvent = () => {
    suspectConnection()
    retryNow()
  }
  for (const event of events) window.addEventListener(event, onEvent)
  return () => {
    for (const event of events) window.removeEventListener(event, onEvent)
  }
})

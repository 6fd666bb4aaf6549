/** How states of endpoints and replicas look. */

import type { Tone } from '../../ui/StatusBadge'

export const STATES = ['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed', 'deleting'] as const
export type EndpointState = (typeof STATES)[number]

type Look = { tone: Tone; label: string; meaning: string }

const ENDPOINT: Record<EndpointState, Look> = {
  provisioning: { tone: 'busy', label: 'Provisioning', meaning: 'Replicas are being started; calls wait for them' },
  serving: { tone: 'ok', label: 'Serving', meaning: 'Calls are answered' },
  'scaled-to-zero': { tone: 'idle', label: 'Scaled to zero', meaning: 'Nothing runs; the next call starts a replica' },
  suspended: { tone: 'warn', label: 'Suspended', meaning: 'Nothing runs and nothing is committed until it is resumed' },
  failed: { tone: 'bad', label: 'Failed', meaning: 'No replica could be started; calls are refused with 503' },
  deleting: { tone: 'busy', label: 'Deleting', meaning: 'Its last calls are being finished' },
}

const REPLICA: Record<string, Look> = {
  pending: { tone: 'busy', label: 'Pending', meaning: 'Waits for free GPUs' },
  bound: { tone: 'busy', label: 'Bound', meaning: 'Has its GPUs; GPU-hours count from here' },
  starting: { tone: 'busy', label: 'Starting', meaning: 'Loads the model' },
  ready: { tone: 'ok', label: 'Ready', meaning: 'Answers calls' },
  draining: { tone: 'warn', label: 'Draining', meaning: 'Finishes its calls and takes no new ones' },
  released: { tone: 'idle', label: 'Released', meaning: 'Gone, its GPUs are free' },
  failed: { tone: 'bad', label: 'Failed', meaning: 'Ended with an error' },
}

const unknown = (state: string): Look => ({ tone: 'idle', label: state, meaning: '' })
export const lookOf = (state: string): Look => ENDPOINT[state as EndpointState] ?? unknown(state)
export const lookOfReplica = (state: string): Look => REPLICA[state] ?? unknown(state)

/** `waiting-for-gpus` as people say it. */
export const inWords = (reason: string) => {
  const words = reason.replaceAll('-', ' ').replace('gpus', 'GPUs')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Labels, colours and meanings of endpoint and replica states. */

import { displayIn, type StateDisplay } from '../../ui/states'

export const STATES = ['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed', 'deleting'] as const
export type EndpointState = (typeof STATES)[number]

const ENDPOINT: Record<EndpointState, StateDisplay> = {
  provisioning: { tone: 'busy', label: 'Provisioning', meaning: 'Replicas are starting; calls wait for them' },
  serving: { tone: 'ok', label: 'Serving', meaning: 'Serving calls' },
  'scaled-to-zero': {
    tone: 'idle',
    label: 'Scaled to zero',
    meaning: 'No replica is running; the next call starts one',
  },
  suspended: {
    tone: 'warn',
    label: 'Suspended',
    meaning: 'No replica runs and no GPU is committed until it is resumed',
  },
  failed: { tone: 'bad', label: 'Failed', meaning: 'No replica could be started; calls are rejected with 503' },
  deleting: { tone: 'busy', label: 'Deleting', meaning: 'Finishing its last calls' },
}

export const endpointStateDisplay = displayIn(ENDPOINT)

export const replicaStateDisplay = displayIn({
  pending: { tone: 'busy', label: 'Pending', meaning: 'Waiting for free GPUs' },
  bound: { tone: 'busy', label: 'Bound', meaning: 'GPUs assigned; GPU-hours are counted from here' },
  starting: { tone: 'busy', label: 'Starting', meaning: 'Loading the model' },
  ready: { tone: 'ok', label: 'Ready', meaning: 'Serving calls' },
  draining: { tone: 'warn', label: 'Draining', meaning: 'Finishing its calls; accepts no new ones' },
  released: { tone: 'idle', label: 'Released', meaning: 'Ended; its GPUs are free' },
  failed: { tone: 'bad', label: 'Failed', meaning: 'Ended with an error' },
})

/** Turns `waiting-for-gpus` into "Waiting for GPUs". */
export const humanize = (reason: string) => {
  const words = reason.replaceAll('-', ' ').replace('gpus', 'GPUs')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

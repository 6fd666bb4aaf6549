import type { ModelOption } from './model-options'

/** What a call without a first token waits for, by the state of its endpoint. */
export function waitingFor(option: ModelOption | undefined, isAccepted: boolean, awaited = 'the first token'): string {
  const endpoint = option?.endpoint
  if (!endpoint || isAccepted || endpoint.status.ready > 0) return `Waiting for ${awaited}`
  if (endpoint.status.starting > 0) return `Starting ${option.id}: a replica is loading the model; your call is held`
  if (endpoint.status.pending > 0) return `Starting ${option.id}: waiting for free GPUs; your call is held`
  return `Waking ${option.id}: waiting for a replica; your call is held`
}

/** Queues of calls, in words. */

import type { Queue } from '../../../api/operator/nodes'
import { formatCompact, formatCount } from '../../../ui/format'

/** `12 calls, 3.4K tokens`; undefined if nothing waits. */
export function summaryOf(queues: readonly Pick<Queue, 'calls' | 'tokens'>[]): string | undefined {
  const sum = (of: 'calls' | 'tokens') => queues.reduce((total, queue) => total + queue[of], 0)
  const calls = sum('calls')
  if (calls === 0) return undefined
  return `${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}, ${formatCompact(sum('tokens'))} tokens`
}

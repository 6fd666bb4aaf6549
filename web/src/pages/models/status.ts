/** How a model's status looks. */

import type { Tone } from '../../ui/StatusBadge'

const STATUSES: Record<string, { tone: Tone; label: string; meaning: string }> = {
  available: { tone: 'ok', label: 'Available', meaning: 'Every server of this model is healthy' },
  degraded: {
    tone: 'warn',
    label: 'Degraded',
    meaning: 'Some servers of this model are not healthy; calls are served by the rest',
  },
  unavailable: {
    tone: 'bad',
    label: 'Unavailable',
    meaning: 'No server of this model is healthy; calls are refused with 503',
  },
}

export const statusOf = (status: string) => STATUSES[status] ?? { tone: 'idle' as const, label: status, meaning: '' }

/** Labels, colours and meanings of model statuses. */

import type { Tone } from '../../ui/StatusBadge'

const STATUSES: Record<string, { tone: Tone; label: string; meaning: string }> = {
  available: { tone: 'ok', label: 'Available', meaning: 'All servers of this model are healthy' },
  degraded: {
    tone: 'warn',
    label: 'Degraded',
    meaning: 'Some servers of this model are unhealthy; the others serve all calls',
  },
  unavailable: {
    tone: 'bad',
    label: 'Unavailable',
    meaning: 'No server of this model is healthy; calls are rejected with 503',
  },
}

export const statusOf = (status: string) => STATUSES[status] ?? { tone: 'idle' as const, label: status, meaning: '' }

/** Labels, colours and meanings of model statuses. */

import { displayIn } from '../../ui/states'

export const statusOf = displayIn({
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
  disabled: { tone: 'idle', label: 'Disabled', meaning: 'It was taken out of service; calls are rejected with 404' },
})

/** What may be done to an endpoint in which state, and why not elsewhere. */

import type { Endpoint } from '../../../api/endpoints'
import type { EndpointState } from '../states'

const DELETING = 'The endpoint is being deleted'

/** Why it may not be done now; nothing when it may. */
type Check = (endpoint: Pick<Endpoint, 'state'>) => string | undefined

const allowed =
  (states: readonly EndpointState[], reason: string): Check =>
  ({ state }) => {
    if ((states as readonly string[]).includes(state)) return undefined
    return state === 'deleting' ? DELETING : reason
  }

export const endpointCan = {
  call: allowed(['provisioning', 'serving', 'scaled-to-zero'], 'Calls are not answered in this state: resume it first'),
  scale: allowed(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'], DELETING),
  suspend: allowed(['provisioning', 'serving', 'scaled-to-zero', 'failed'], 'The endpoint is already suspended'),
  resume: allowed(['suspended', 'failed'], 'Only a suspended or failed endpoint can be resumed'),
  delete: allowed(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'], DELETING),
} as const satisfies Record<string, Check>

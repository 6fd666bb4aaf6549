/** Which actions an endpoint allows in which state, and why not otherwise. */

import type { Endpoint } from '../../../api/endpoints'
import type { EndpointState } from '../states'

const DELETING = 'The endpoint is being deleted'

/** Returns why the action is unavailable, or undefined if it is allowed. */
type Check = (endpoint: Pick<Endpoint, 'state'>) => string | undefined

const allowed =
  (states: readonly EndpointState[], reason: string): Check =>
  ({ state }) => {
    if ((states as readonly string[]).includes(state)) return undefined
    return state === 'deleting' ? DELETING : reason
  }

export const endpointCan = {
  call: allowed(
    ['provisioning', 'serving', 'scaled-to-zero'],
    'The endpoint does not serve calls in this state; resume it first',
  ),
  scale: allowed(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'], DELETING),
  suspend: allowed(['provisioning', 'serving', 'scaled-to-zero', 'failed'], 'The endpoint is already suspended'),
  resume: allowed(['suspended', 'failed'], 'Only a suspended or failed endpoint can be resumed'),
  delete: allowed(['provisioning', 'serving', 'scaled-to-zero', 'suspended', 'failed'], DELETING),
} as const satisfies Record<string, Check>

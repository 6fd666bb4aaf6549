/** Organizations; only the operator creates them. */

import { client, unwrap } from './client'

export const createOrganization = (name: string) => unwrap(client.POST('/api/organizations', { body: { name } }))

/** Organizations, as the operator makes them. */

import { ask, client } from './client'

export const createOrganization = (name: string) => ask(client.POST('/api/organizations', { body: { name } }))

/** Organizations; only the operator creates them. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'

export type Organization = Schemas['Organization']

const at = (organizationId: string) => ({ params: { path: { organizationId } } })

/** The current organization of the session. */
export const currentOrganizationQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId],
    queryFn: ({ signal }) =>
      unwrap(client.GET('/api/organizations/{organizationId}', { ...at(organizationId), signal })),
  })

/** Sets the amount of the administrators, which null removes, and what happens when it is spent. */
export const setOrganizationBudget = (
  organizationId: string,
  budget: Pick<Schemas['OrganizationSettings'], 'monthlyUsd' | 'onBudget'>,
) => unwrap(client.PATCH('/api/organizations/{organizationId}', { ...at(organizationId), body: budget }))

export const createOrganization = (name: string) => unwrap(client.POST('/api/organizations', { body: { name } }))

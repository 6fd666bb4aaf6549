/** Who changed what. */

import { infiniteQueryOptions } from '@tanstack/react-query'
import { withQuery } from '../paths'
import { ask, client, type Schemas } from './client'

export type AuditEntry = Schemas['AuditEntry']
/** Moments are RFC 3339; `to` is not in it any more. */
export type AuditFilter = { actor?: string; action?: string; subject?: string; from?: string; to?: string }

const PAGE_SIZE = 50

/** Of one organization, newest first; without one of the whole platform, for the operator. */
export const auditQuery = (organizationId: string | undefined, filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', organizationId ?? 'platform', filter],
    queryFn: async ({ signal, pageParam: cursor }) => {
      const query = { ...filter, limit: PAGE_SIZE, cursor }
      const answering = organizationId
        ? client.GET('/api/organizations/{organizationId}/audit', {
            params: { path: { organizationId }, query },
            signal,
          })
        : client.GET('/api/audit', { params: { query }, signal })
      // The text of an export comes for `format=jsonl` only.
      return (await ask<unknown>(answering)) as Schemas['List_AuditEntry']
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })

/** Everything that matches, one entry to a line. */
export function auditExport(organizationId: string | undefined, filter: AuditFilter): string {
  const path = organizationId ? `/api/organizations/${encodeURIComponent(organizationId)}/audit` : '/api/audit'
  return withQuery(path, { ...filter, format: 'jsonl' })
}

/** The audit log. */

import { infiniteQueryOptions } from '@tanstack/react-query'
import { withQuery } from '../paths'
import { client, type Schemas, unwrap } from './client'

export type AuditEntry = Schemas['AuditEntry']
/** Times are RFC 3339; `to` is exclusive. */
export type AuditFilter = { actor?: string; action?: string; subject?: string; from?: string; to?: string }

const PAGE_SIZE = 50

/** Entries of an organization, newest first; without an id those of the whole platform, which only the operator may read. */
export const auditQuery = (organizationId: string | undefined, filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', organizationId ?? 'platform', filter],
    queryFn: async ({ signal, pageParam: cursor }) => {
      const query = { ...filter, limit: PAGE_SIZE, cursor }
      const response = organizationId
        ? client.GET('/api/organizations/{organizationId}/audit', {
            params: { path: { organizationId }, query },
            signal,
          })
        : client.GET('/api/audit', { params: { query }, signal })
      // Only `format=jsonl` returns text instead of JSON.
      return (await unwrap<unknown>(response)) as Schemas['List_AuditEntry']
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  })

/** Link to all matching entries as JSON lines. */
export function auditExport(organizationId: string | undefined, filter: AuditFilter): string {
  const path = organizationId ? `/api/organizations/${encodeURIComponent(organizationId)}/audit` : '/api/audit'
  return withQuery(path, { ...filter, format: 'jsonl' })
}

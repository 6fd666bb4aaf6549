/** Metrics over time, and the request log. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { untilTick } from './polling'
import type { paths } from './schema'

export type Series = Schemas['Series']
export type SeriesLine = Schemas['SeriesLine']
export type LoggedRequest = Schemas['Request']
export type MetricParameters = paths['/api/workspaces/{workspaceId}/metrics']['get']['parameters']['query']
export type Metric = MetricParameters['metric']
export type RequestsParameters = Omit<
  NonNullable<paths['/api/workspaces/{workspaceId}/requests']['get']['parameters']['query']>,
  'cursor' | 'limit' | 'format'
>

/** A fixed time range (`from`, `to`) or the last `spanMs`, refetched every `liveMs`. */
export type Window = { from?: string; to?: string; spanMs?: number; liveMs?: number }

const REQUESTS_PAGE = 50

/** Query parameters of a window. */
export const boundsOf = ({ from, to, spanMs }: Window) =>
  spanMs === undefined ? { from, to } : { from: new Date(Date.now() - spanMs).toISOString() }

/** The refetch interval of a window. */
export const onTick =
  ({ liveMs }: Window) =>
  () =>
    liveMs ? untilTick(liveMs) : false

export const metricQuery = (workspaceId: string, parameters: Omit<MetricParameters, 'from' | 'to'>, window: Window) =>
  queryOptions({
    queryKey: ['metrics', workspaceId, parameters, window],
    queryFn: ({ signal }) => {
      const params = { path: { workspaceId }, query: { ...parameters, ...boundsOf(window) } }
      return unwrap(client.GET('/api/workspaces/{workspaceId}/metrics', { params, signal }))
    },
    placeholderData: keepPreviousData,
    refetchInterval: onTick(window),
    refetchIntervalInBackground: false,
  })

export const requestsQuery = (workspaceId: string, parameters: RequestsParameters, window: Window) =>
  infiniteQueryOptions({
    queryKey: ['requests', workspaceId, parameters, window],
    queryFn: async ({ signal, pageParam }) => {
      const query = { ...parameters, ...boundsOf(window), limit: REQUESTS_PAGE, cursor: pageParam }
      const params = { path: { workspaceId }, query }
      const page = await unwrap(client.GET('/api/workspaces/{workspaceId}/requests', { params, signal }))
      return page as unknown as Schemas['List_Request']
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: onTick(window),
    refetchIntervalInBackground: false,
  })

/** A call by its id; undefined while it is not logged yet. */
export async function loggedRequest(workspaceId: string, request: string): Promise<LoggedRequest | undefined> {
  const params = { path: { workspaceId }, query: { request } }
  const page = await unwrap(client.GET('/api/workspaces/{workspaceId}/requests', { params }))
  return (page as unknown as Schemas['List_Request']).data[0]
}

/** Link to all matching requests as CSV. */
export function requestsCsv(workspaceId: string, parameters: RequestsParameters, window: Window): string {
  const query = new URLSearchParams({ format: 'csv' })
  for (const [name, value] of Object.entries({ ...parameters, ...boundsOf(window) }))
    if (value !== undefined) query.set(name, String(value))
  return `/api/workspaces/${workspaceId}/requests?${query}`
}

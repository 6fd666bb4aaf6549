/** Metrics over time, and the log of single requests. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { ask, client, type Schemas } from './client'
import type { paths } from './schema'

export type Series = Schemas['Series']
export type SeriesLine = Schemas['SeriesLine']
export type LoggedRequest = Schemas['Request']
export type MetricAsked = paths['/api/workspaces/{workspaceId}/metrics']['get']['parameters']['query']
export type Metric = MetricAsked['metric']
export type RequestsAsked = Omit<
  NonNullable<paths['/api/workspaces/{workspaceId}/requests']['get']['parameters']['query']>,
  'cursor' | 'limit' | 'format'
>

/** A span that ends now is asked for again; `liveMs` says how often. */
export type Window = { from?: string; to?: string; spanMs?: number; liveMs?: number }

const REQUESTS_PAGE = 50

const momentsOf = ({ from, to, spanMs }: Window) =>
  spanMs === undefined ? { from, to } : { from: new Date(Date.now() - spanMs).toISOString() }

export const metricQuery = (workspaceId: string, asked: Omit<MetricAsked, 'from' | 'to'>, window: Window) =>
  queryOptions({
    queryKey: ['metrics', workspaceId, asked, window],
    queryFn: ({ signal }) => {
      const params = { path: { workspaceId }, query: { ...asked, ...momentsOf(window) } }
      return ask(client.GET('/api/workspaces/{workspaceId}/metrics', { params, signal }))
    },
    placeholderData: keepPreviousData,
    refetchInterval: window.liveMs ?? false,
    refetchIntervalInBackground: false,
  })

export const requestsQuery = (workspaceId: string, asked: RequestsAsked, window: Window) =>
  infiniteQueryOptions({
    queryKey: ['requests', workspaceId, asked, window],
    queryFn: async ({ signal, pageParam }) => {
      const query = { ...asked, ...momentsOf(window), limit: REQUESTS_PAGE, cursor: pageParam }
      const params = { path: { workspaceId }, query }
      const page = await ask(client.GET('/api/workspaces/{workspaceId}/requests', { params, signal }))
      return page as unknown as Schemas['List_Request']
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: window.liveMs ?? false,
    refetchIntervalInBackground: false,
  })

/** All that match, as a file. */
export function requestsCsv(workspaceId: string, asked: RequestsAsked, window: Window): string {
  const query = new URLSearchParams({ format: 'csv' })
  for (const [name, value] of Object.entries({ ...asked, ...momentsOf(window) })) if (value) query.set(name, value)
  return `/api/workspaces/${workspaceId}/requests?${query}`
}

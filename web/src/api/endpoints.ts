/** Dedicated endpoints, their replicas and events, and the GPU allotment. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { everyPage, type ListQuery, tableQuery } from './pages'
import { polled } from './polling'
import { boundsOf, onTick, type Window } from './series'

export type Endpoint = Schemas['Endpoint']
export type EndpointEvent = Schemas['EndpointEvent']
export type Replica = Schemas['EndpointReplica']
export type Allotment = Schemas['Allotment']
export type NewEndpoint = Schemas['NewEndpoint']
export type EndpointChange = Schemas['EndpointChange']

export const LIVE_POLL_MS = 3_000
const LONG_LIST_POLL_MS = 30_000
const LEDGER_POLL_MS = 5_000
const COST_POLL_MS = 30_000
const EVENTS_PAGE = 30
const SUGGESTIONS = 12

/** The most that `/v1/endpoints` returns at once. */
const MAX_LISTED = 100

/** Lists of several pages are polled less often. */
export const endpointsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId],
    queryFn: ({ signal }) =>
      everyPage((query) => unwrap(client.GET('/v1/endpoints', { params: { query }, signal })), MAX_LISTED),
    ...polled(LIVE_POLL_MS),
    refetchInterval: ({ state }) => ((state.data?.length ?? 0) <= MAX_LISTED ? LIVE_POLL_MS : LONG_LIST_POLL_MS),
  })

/** Endpoints whose name or model has the text, for a list of suggestions. */
export const foundEndpointsQuery = (workspaceId: string, search: string) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId, { found: search }],
    queryFn: async ({ signal }) => {
      const query = { search: search || undefined, limit: SUGGESTIONS }
      return (await unwrap(client.GET('/v1/endpoints', { params: { query }, signal }))).data
    },
    placeholderData: keepPreviousData,
  })

export const endpointTableQuery = (workspaceId: string, state: string, list: ListQuery) =>
  tableQuery(['endpoints', workspaceId, { state }], list, (query, signal) =>
    unwrap(client.GET('/v1/endpoints', { params: { query: { ...query, state: state || undefined } }, signal })),
  )

export const endpointQuery = (workspaceId: string, name: string) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId, name],
    queryFn: ({ signal }) =>
      unwrap(client.GET('/v1/endpoints/{endpoint}', { params: { path: { endpoint: name } }, signal })),
    ...polled(LIVE_POLL_MS),
  })

export const replicasQuery = (workspaceId: string, name: string) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId, name, 'replicas'],
    queryFn: async ({ signal }) =>
      (await unwrap(client.GET('/v1/endpoints/{endpoint}/replicas', { params: { path: { endpoint: name } }, signal })))
        .data,
    ...polled(LIVE_POLL_MS),
  })

/** How the autoscaler changed the number of replicas in a window, newest first. */
export const decisionsQuery = (workspaceId: string, name: string, window: Window) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId, name, 'decisions', window],
    queryFn: async ({ signal }) => {
      const { from, to } = { to: undefined, ...boundsOf(window) }
      const query = { type: 'endpoint.scaled', since: from, limit: MAX_LISTED }
      const params = { path: { endpoint: name }, query }
      const { data } = await unwrap(client.GET('/v1/endpoints/{endpoint}/events', { params, signal }))
      return to ? data.filter(({ at }) => at < to) : data
    },
    placeholderData: keepPreviousData,
    refetchInterval: onTick(window),
    refetchIntervalInBackground: false,
  })

export const eventsQuery = (workspaceId: string, name: string) =>
  infiniteQueryOptions({
    queryKey: ['endpoints', workspaceId, name, 'events'],
    queryFn: ({ signal, pageParam }) => {
      const query = { limit: EVENTS_PAGE, cursor: pageParam }
      const params = { path: { endpoint: name }, query }
      return unwrap(client.GET('/v1/endpoints/{endpoint}/events', { params, signal }))
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    ...polled(LEDGER_POLL_MS),
  })

/** GPU-hours and their cost in the month so far. */
export const endpointUsageQuery = (workspaceId: string, name: string) =>
  queryOptions({
    queryKey: ['endpoints', workspaceId, name, 'usage'],
    queryFn: ({ signal }) => {
      const params = { path: { endpoint: name }, query: { granularity: 'day' } }
      return unwrap(client.GET('/v1/endpoints/{endpoint}/usage', { params, signal }))
    },
    ...polled(COST_POLL_MS),
  })

export const allotmentsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['allotments', workspaceId],
    queryFn: async ({ signal }) => (await unwrap(client.GET('/v1/endpoints/allotments', { signal }))).data,
    ...polled(LEDGER_POLL_MS),
  })

/** Dry run: validates the request and returns the endpoint that would be created. */
export const dryRunEndpoint = (body: NewEndpoint) =>
  unwrap(client.POST('/v1/endpoints', { body, params: { query: { dryRun: true } } }))

/** Idempotent: a repeated key returns the endpoint created first. */
export const createEndpoint = (body: NewEndpoint, idempotencyKey: string) =>
  unwrap(client.POST('/v1/endpoints', { body, params: { header: { 'Idempotency-Key': idempotencyKey } } }))

/** Fails with `ENDPOINT_MODIFIED` if the record has changed since it was read. */
export const changeEndpoint = ({ name, generation }: Endpoint, body: EndpointChange) => {
  const params = { path: { endpoint: name }, header: { 'If-Match': `"${generation}"` } }
  return unwrap(client.PATCH('/v1/endpoints/{endpoint}', { body, params }))
}

export const suspendEndpoint = (name: string) =>
  unwrap(client.POST('/v1/endpoints/{endpoint}/suspend', { params: { path: { endpoint: name } } }))

/** Scaling fields are applied in the same step, because a resume may need fewer replicas to fit the allotment. */
export const resumeEndpoint = (name: string, body: EndpointChange = {}) =>
  unwrap(client.POST('/v1/endpoints/{endpoint}/resume', { body, params: { path: { endpoint: name } } }))

export const deleteEndpoint = (name: string) =>
  unwrap(client.DELETE('/v1/endpoints/{endpoint}', { params: { path: { endpoint: name } } }))

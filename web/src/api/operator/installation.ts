/** The load of all workspaces, and who causes it, for the operator. */

import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { polled } from '../polling'
import { boundsOf, type Metric, onTick, type Window } from '../series'

export type Consumer = Schemas['OperatorUsageLine']
export type ConsumerKind = 'organization' | 'model' | 'endpoint' | 'key'
export type ConsumerOrder = 'tokens' | 'cost'

const CONSUMERS_POLL_MS = 10_000

export const installationMetricQuery = (metric: Metric, window: Window) =>
  queryOptions({
    queryKey: ['operator', 'metrics', metric, window],
    queryFn: ({ signal }) =>
      unwrap(client.GET('/api/operator/metrics', { params: { query: { metric, ...boundsOf(window) } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: onTick(window),
    refetchIntervalInBackground: false,
  })

/** The largest consumers of the last `spanMs`. */
export const consumersQuery = (by: ConsumerKind, sort: ConsumerOrder, spanMs: number) =>
  queryOptions({
    queryKey: ['operator', 'usage', by, sort, spanMs],
    queryFn: ({ signal }) => consumers({ by, sort, ...boundsOf({ spanMs }) }, signal),
    placeholderData: keepPreviousData,
    ...polled(CONSUMERS_POLL_MS),
  })

/** Whether there was a call in any existing workspace. Recent days are read first, because all days take long. */
export const wasUsedQuery = queryOptions({
  queryKey: ['operator', 'usage', 'ever'],
  queryFn: async ({ signal }) => {
    const wasUsedSince = async (from?: string) => (await consumers({ by: 'key', from, limit: 1 }, signal)).length > 0
    return (await wasUsedSince()) || wasUsedSince(new Date(0).toISOString())
  },
  staleTime: ({ state }) => (state.data ? Number.POSITIVE_INFINITY : 0),
  refetchInterval: ({ state }) => (state.data ? false : CONSUMERS_POLL_MS),
  refetchIntervalInBackground: false,
})

type Query = {
  by: ConsumerKind
  sort?: ConsumerOrder
  from?: string
  to?: string
  limit?: number
}

const consumers = async (query: Query, signal: AbortSignal) =>
  (await unwrap(client.GET('/api/operator/usage', { params: { query }, signal }))).data

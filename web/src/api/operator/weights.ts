/** Weights: the hub, the models folder of the node that responds, and the downloads of all nodes. */

import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { polled } from '../polling'

export type WeightsLookup = Schemas['WeightsLookup']
export type RunnableWeights = Schemas['RunnableWeights']
export type WeightsDownload = Schemas['WeightsDownload']
export type OperatorWeights = Schemas['OperatorWeights']

const KEY = ['operator', 'weights'] as const
const PROGRESS_POLL_MS = 2_000

export const weightsQuery = queryOptions({
  queryKey: KEY,
  queryFn: ({ signal }) => unwrap(client.GET('/api/operator/weights', { signal })),
})

export const downloadsQuery = queryOptions({
  queryKey: [...KEY, 'downloads'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/weights/downloads', { signal }))).data,
  ...polled(PROGRESS_POLL_MS),
})

/** What the hub says about weights that a form names; an error is only that nothing is known. */
export const weightsLookupQuery = (reference: string) =>
  queryOptions({
    queryKey: ['operator', 'weights-lookup', reference],
    queryFn: () => lookUpWeights(reference),
    retry: false,
  })

export const lookUpWeights = (reference: string) =>
  unwrap(client.POST('/api/operator/weights/lookup', { body: { reference } }))

export const startDownload = (reference: string) =>
  unwrap(client.POST('/api/operator/weights/downloads', { body: { reference } }))

const at = (downloadId: string) => ({ params: { path: { downloadId } } })

export const cancelDownload = (id: string) =>
  unwrap(client.POST('/api/operator/weights/downloads/{downloadId}/cancel', at(id)))

export const resumeDownload = (id: string) =>
  unwrap(client.POST('/api/operator/weights/downloads/{downloadId}/resume', at(id)))

export const deleteDownload = (id: string) =>
  unwrap(client.DELETE('/api/operator/weights/downloads/{downloadId}', at(id)))

export const refreshDownloads = (queries: QueryClient) => queries.invalidateQueries({ queryKey: KEY })

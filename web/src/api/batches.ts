/** Batches of a workspace: calls that run when there is room. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { tableQuery } from './pages'
import { polled } from './polling'

export type Batch = Schemas['WorkspaceBatch']
export type BatchDetails = Schemas['WorkspaceBatchDetails']
export type NewBatch = Omit<Schemas['BatchRequest'], 'metadata'> & { metadata?: Record<string, string> }

export const BATCH_POLL_MS = 5_000

/** Everything about the batches of a workspace, to be loaded again after a change. */
export const batchesOf = (workspaceId: string) => ({ queryKey: ['batches', workspaceId] })

const at = (workspaceId: string, batchId: string) => ({ params: { path: { workspaceId, batchId } } })

/** Newest first. */
export const batchTableQuery = (workspaceId: string) =>
  tableQuery(['batches', workspaceId], {}, ({ limit, cursor }, signal) => {
    const params = { path: { workspaceId }, query: { limit, cursor } }
    return unwrap(client.GET('/api/workspaces/{workspaceId}/batches', { params, signal }))
  })

export const batchQuery = (workspaceId: string, batchId: string) =>
  queryOptions({
    queryKey: ['batches', workspaceId, 'one', batchId],
    queryFn: async ({ signal }) => {
      const batch = client.GET('/api/workspaces/{workspaceId}/batches/{batchId}', {
        ...at(workspaceId, batchId),
        signal,
      })
      return (await unwrap(batch)) as BatchDetails
    },
    ...polled(BATCH_POLL_MS),
  })

/** Idempotent: a repeated key returns the batch created first. */
export const createBatch = (body: NewBatch, idempotencyKey: string) =>
  unwrap(
    client.POST('/v1/batches', {
      // The description does not say what an object without members has.
      body: body as Schemas['BatchRequest'],
      params: { header: { 'Idempotency-Key': idempotencyKey } },
    }),
  )

export const cancelBatch = (workspaceId: string, batchId: string) =>
  unwrap(client.POST('/api/workspaces/{workspaceId}/batches/{batchId}/cancel', at(workspaceId, batchId)))

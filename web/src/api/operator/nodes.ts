/** Nodes and health of the installation, for the operator. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { polled } from '../polling'

export type OperatorNode = Schemas['OperatorNode']
export type Finding = Schemas['OperatorFinding']
export type Gpu = Schemas['OperatorGpu']
export type ErrorCount = Schemas['OperatorErrorCount']
export type EngineLog = Schemas['OperatorLog']
export type BilledReplica = Schemas['ReconciliationSum']

const NODES_POLL_MS = 5_000
/** Findings are kept for 30 seconds by the server. */
const FINDINGS_POLL_MS = 60_000

export const nodesQuery = queryOptions({
  queryKey: ['operator', 'nodes'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/nodes', { signal }))).data,
  ...polled(NODES_POLL_MS),
})

export const gpusQuery = queryOptions({
  queryKey: ['operator', 'gpus'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/gpus', { signal }))).data,
  ...polled(NODES_POLL_MS),
})

export const findingsQuery = queryOptions({
  queryKey: ['operator', 'findings'],
  queryFn: ({ signal }) => unwrap(client.GET('/api/operator/findings', { signal })),
  ...polled(FINDINGS_POLL_MS),
})

export const platformErrorsQuery = queryOptions({
  queryKey: ['operator', 'errors'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/errors', { signal }))).data,
  ...polled(FINDINGS_POLL_MS),
})

/** Of the last day. */
export const billCheckQuery = queryOptions({
  queryKey: ['operator', 'bill-check'],
  queryFn: ({ signal }) => unwrap(client.GET('/api/reconciliation', { signal })),
  ...polled(FINDINGS_POLL_MS),
})

export const forgetNode = (nodeId: string) =>
  unwrap(client.DELETE('/api/nodes/{nodeId}', { params: { path: { nodeId } } }))

export const logsQuery = queryOptions({
  queryKey: ['operator', 'logs'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/logs', { signal }))).data,
  ...polled(FINDINGS_POLL_MS),
})

/** The end of a log; only lines that contain `search`. */
export const logQuery = (replicaId: string, search: string) =>
  queryOptions({
    queryKey: ['operator', 'logs', replicaId, search],
    queryFn: async ({ signal }) => {
      const params = { path: { replicaId }, query: search ? { search } : {} }
      const read = client.GET('/api/operator/logs/{replicaId}', { params, signal, parseAs: 'text' })
      return (await unwrap(read)) as string
    },
    ...polled(NODES_POLL_MS),
  })

/** Link to the whole log that is kept. */
export const logFile = (replicaId: string) =>
  `/api/operator/logs/${encodeURIComponent(replicaId)}?bytes=4194304&download=true`

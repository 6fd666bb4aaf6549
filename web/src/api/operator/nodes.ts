/** Nodes and health of the installation, for the operator. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { polled } from '../polling'

export type OperatorNode = Schemas['OperatorNode']
export type Finding = Schemas['OperatorFinding']
export type Gpu = Schemas['OperatorGpu']
export type FailedEndpoint = Schemas['FailedEndpoint']
export type ErrorCount = Schemas['OperatorErrorCount']
export type EngineLog = Schemas['OperatorLog']
export type Queue = Schemas['OperatorQueue']
export type BilledReplica = Schemas['ReconciliationSum']

const NODES_POLL_MS = 5_000
const LOG_POLL_MS = 3_000
const LOGS_POLL_MS = 10_000
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

/** What waits at all nodes, most tokens first. */
export const queuesQuery = queryOptions({
  queryKey: ['operator', 'queues'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/queues', { signal }))).data,
  ...polled(NODES_POLL_MS),
})

export const findingsQuery = queryOptions({
  queryKey: ['operator', 'findings'],
  queryFn: ({ signal }) => unwrap(client.GET('/api/operator/findings', { signal })),
  ...polled(FINDINGS_POLL_MS),
})

/** The failed endpoints of all workspaces, those that failed last first. */
export const failedEndpointsQuery = queryOptions({
  queryKey: ['operator', 'failed-endpoints'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/failed-endpoints', { signal }))).data,
  ...polled(LOGS_POLL_MS),
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
  ...polled(LOGS_POLL_MS),
})

/** The log of an engine: its name, and the node of Forebay that has it; empty for a Pod. */
export type LogRef = { replicaId: string; node: string }

/** The end of a log; only lines that contain `search`. */
export const logQuery = ({ replicaId, node }: LogRef, search: string) =>
  queryOptions({
    queryKey: ['operator', 'logs', node, replicaId, search],
    queryFn: async ({ signal }) => {
      const query = { ...(node ? { node } : {}), ...(search ? { search } : {}) }
      const params = { path: { replicaId }, query }
      const read = client.GET('/api/operator/logs/{replicaId}', { params, signal, parseAs: 'text' })
      // The client has no data for an empty text.
      return ((await unwrap(read)) ?? '') as string
    },
    ...polled(LOG_POLL_MS),
  })

/** Link to the whole log that is kept. */
export const logFile = ({ replicaId, node }: LogRef) => {
  const query = new URLSearchParams({ ...(node ? { node } : {}), bytes: '4194304', download: 'true' })
  return `/api/operator/logs/${encodeURIComponent(replicaId)}?${query}`
}

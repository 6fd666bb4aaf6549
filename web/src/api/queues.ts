/** The calls of a workspace that wait for room. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { polled } from './polling'

export type WorkspaceQueue = Schemas['WorkspaceQueue']

/** Nodes report what waits every five seconds. */
const QUEUES_POLL_MS = 5_000

export const workspaceQueuesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['queues', workspaceId],
    queryFn: async ({ signal }) => {
      const params = { path: { workspaceId } }
      return (await unwrap(client.GET('/api/workspaces/{workspaceId}/queues', { params, signal }))).data
    },
    ...polled(QUEUES_POLL_MS),
  })

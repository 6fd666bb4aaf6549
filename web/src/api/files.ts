/** Files of a workspace: lines that batches read, and their results. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { tableQuery } from './pages'

export type StoredFile = Schemas['File']

/** Files that a form offers. */
const OFFERED = 100

/** Everything about the files of a workspace, to be loaded again after a change. */
export const filesOf = (workspaceId: string) => ({ queryKey: ['files', workspaceId] })

const list = (workspaceId: string, query: { limit: number; cursor?: string }, signal: AbortSignal) =>
  unwrap(client.GET('/api/workspaces/{workspaceId}/files', { params: { path: { workspaceId }, query }, signal }))

/** Newest first. */
export const fileTableQuery = (workspaceId: string) =>
  tableQuery(['files', workspaceId], {}, ({ limit, cursor }, signal) => list(workspaceId, { limit, cursor }, signal))

/** Those of the newest files that a batch can read. */
export const inputFilesQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['files', workspaceId, 'inputs'],
    queryFn: async ({ signal }) => {
      const { data } = await list(workspaceId, { limit: OFFERED }, signal)
      return data.filter(({ purpose }) => purpose === 'batch')
    },
  })

export function uploadFile(file: File) {
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', file)
  // The description has the parts of the form as members; what is sent is the form.
  return unwrap(client.POST('/v1/files', { body: form as never, bodySerializer: (body: unknown) => body as FormData }))
}

export const deleteFile = (id: string) => unwrap(client.DELETE('/v1/files/{id}', { params: { path: { id } } }))

/** Link to the content, for the current workspace of the session. */
export const contentOf = (id: string) => `/v1/files/${encodeURIComponent(id)}/content`

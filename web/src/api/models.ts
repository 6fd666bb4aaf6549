/** The model catalogue, and the flavors a model can run on. */

import { queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from './client'
import { polled } from './polling'

export type Model = Schemas['Model']
export type Flavor = Schemas['FlavorLine']

const STATUS_POLL_MS = 10_000

/** Models and aliases, in one list. */
export const modelRecordsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['models', workspaceId],
    queryFn: async ({ signal }) => (await unwrap(client.GET('/v1/models', { signal }))).data,
    ...polled(STATUS_POLL_MS),
  })

export const withoutAliases = (records: Model[]) => records.filter((record) => !record.alias_of)

/** The models, and the aliases of each by its id. */
export type Library = { models: Model[]; aliases: ReadonlyMap<string, readonly string[]> }

export function libraryOf(records: Model[]): Library {
  const aliases = new Map<string, string[]>()
  for (const { id, alias_of: model } of records) {
    if (!model) continue
    const known = aliases.get(model)
    if (known) known.push(id)
    else aliases.set(model, [id])
  }
  return { models: withoutAliases(records), aliases }
}

export const modelsQuery = (workspaceId: string) =>
  queryOptions({ ...modelRecordsQuery(workspaceId), select: withoutAliases })

/** Computed once per response. */
export const libraryQuery = (workspaceId: string) =>
  queryOptions({ ...modelRecordsQuery(workspaceId), select: libraryOf })

export const modelQuery = (workspaceId: string, id: string) =>
  queryOptions({
    queryKey: ['models', workspaceId, id],
    queryFn: ({ signal }) => unwrap(client.GET('/v1/models/{id}', { params: { path: { id } }, signal })),
    ...polled(STATUS_POLL_MS),
  })

export const flavorsQuery = (workspaceId: string, model: string) =>
  queryOptions({
    queryKey: ['flavors', workspaceId, model],
    queryFn: async ({ signal }) =>
      (await unwrap(client.GET('/v1/endpoints/flavors', { params: { query: { model } }, signal }))).data,
  })

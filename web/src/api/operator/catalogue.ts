/** The catalogue as the operator sees it: models of the file and of the store. */

import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { client, type Schemas, unwrap } from '../client'
import { type ListQuery, type Page, tableQuery } from '../pages'
import { polled } from '../polling'
import { boundsOf, onTick, type Window } from '../series'

/** An entry in a response, with the effective value of every member; only those of `Unset` may have none. */
type Effective<T, Unset extends keyof T> = { [K in keyof T]-?: K extends Unset ? T[K] : NonNullable<T[K]> }

export type OperatorUpstream = Effective<Omit<Schemas['UpstreamEntry'], 'apiKey'>, 'maxInFlight' | 'engine'>
export type OperatorFlavor = Effective<
  Schemas['FlavorEntry'],
  | 'engine'
  | 'toolParser'
  | 'reasoningParser'
  | 'chatTemplate'
  | 'args'
  | 'argv'
  | 'image'
  | 'weights'
  | 'defaultTarget'
  | 'prefillTarget'
  | 'maxLen'
>
type Parts = {
  upstreams: OperatorUpstream[]
  engine: Effective<Schemas['EngineEntry'], 'parallel' | 'args' | 'flavor'> | null
  flavors: OperatorFlavor[]
}
type Entry = Effective<Omit<Schemas['CatalogueEntry'], keyof Parts | 'driver'>, 'thinking' | 'refusedMembers' | 'probe'>
export type OperatorModel = Omit<Schemas['OperatorModel'], keyof Schemas['CatalogueEntry']> & Entry & Parts
export type Catalogue = Schemas['OperatorCatalogue']
export type NewModel = Schemas['NewModel']
export type ModelEdit = Schemas['ModelEdit']
export type UpstreamProbe = Schemas['UpstreamProbe']
export type ModelTest = Schemas['ModelTest']
export type OperatorAlias = Schemas['OperatorAlias']
export type FlavorInput = Schemas['FlavorEntry']
export type GpuType = Schemas['OperatorGpuType']
export type FlavorFit = Schemas['FlavorFit']

const KEY = ['operator', 'models'] as const
export const POLL_MS = 5_000
/** After this time, what was typed is looked up. */
export const TYPING_MS = 500

export const catalogueQuery = queryOptions({
  queryKey: ['operator', 'catalogue'],
  queryFn: ({ signal }) => unwrap(client.GET('/api/operator/catalogue', { signal })),
})

/** Has the numbers of models. */
export const polledCatalogueQuery = queryOptions({ ...catalogueQuery, ...polled(POLL_MS) })

/** Longer lists are not polled: views that only count models take `polledCatalogueQuery`. */
const MAX_POLLED_MODELS = 100

export const operatorModelsQuery = queryOptions({
  queryKey: KEY,
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/models', { signal }))).data as OperatorModel[],
  ...polled(POLL_MS),
  refetchInterval: ({ state }) => ((state.data?.length ?? 0) <= MAX_POLLED_MODELS ? POLL_MS : false),
})

/** Polled by the page that shows it. */
export const modelTableQuery = (list: ListQuery) =>
  tableQuery(
    KEY,
    list,
    async (query, signal) =>
      (await unwrap(client.GET('/api/operator/models', { params: { query }, signal }))) as Page<OperatorModel>,
  )

export const operatorModelQuery = (modelId: string) =>
  queryOptions({
    queryKey: [...KEY, modelId],
    queryFn: async ({ signal }) =>
      (await unwrap(
        client.GET('/api/operator/models/{modelId}', { params: { path: { modelId } }, signal }),
      )) as OperatorModel,
    ...polled(POLL_MS),
  })

export const pricesQuery = (modelId: string) =>
  queryOptions({
    queryKey: [...KEY, modelId, 'prices'],
    queryFn: async ({ signal }) =>
      (await unwrap(client.GET('/api/operator/models/{modelId}/prices', { params: { path: { modelId } }, signal })))
        .data,
  })

/** Prompt tokens of all workspaces in flight at each replica of a model with several. */
export const prefillQueueQuery = (modelId: string, window: Window) =>
  queryOptions({
    queryKey: [...KEY, modelId, 'prefill-queue', window],
    queryFn: ({ signal }) => {
      const params = { path: { modelId }, query: boundsOf(window) }
      return unwrap(client.GET('/api/operator/models/{modelId}/prefill-queue', { params, signal }))
    },
    placeholderData: keepPreviousData,
    refetchInterval: onTick(window),
    refetchIntervalInBackground: false,
  })

export const createModel = (body: NewModel) =>
  unwrap(client.POST('/api/operator/models', { body })) as Promise<OperatorModel>

export const editModel = (modelId: string, body: ModelEdit) =>
  unwrap(
    client.PATCH('/api/operator/models/{modelId}', { params: { path: { modelId } }, body }),
  ) as Promise<OperatorModel>

export const deleteModel = (modelId: string) =>
  unwrap(client.DELETE('/api/operator/models/{modelId}', { params: { path: { modelId } } }))

export const probeUpstream = (body: Schemas['ProbeRequest']) =>
  unwrap(client.POST('/api/operator/upstreams/probe', { body }))

export const testModel = (modelId: string, prompt: string) =>
  unwrap(client.POST('/api/operator/models/{modelId}/test', { params: { path: { modelId } }, body: { prompt } }))

/** GPU types that flavors can name. */
export const gpuTypesQuery = queryOptions({
  queryKey: ['operator', 'gpu-types'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/gpu-types', { signal }))).data,
})

export type FlavorHardware = { gpuType: string; gpuCount: number; driver: string; weights?: string }

/** Whether a replica with these GPUs has a place on some node. */
export const flavorFitQuery = (query: FlavorHardware) =>
  queryOptions({
    queryKey: ['operator', 'flavor-fit', query],
    queryFn: ({ signal }) => unwrap(client.GET('/api/operator/flavors/fit', { params: { query }, signal })),
  })

export const catalogueAliasesQuery = queryOptions({
  queryKey: ['operator', 'aliases'],
  queryFn: async ({ signal }) => (await unwrap(client.GET('/api/operator/aliases', { signal }))).data,
})

export const createAlias = (name: string, model: string) =>
  unwrap(client.POST('/api/operator/aliases', { body: { name, model } }))

export const changeAlias = (alias: string, version: number, model: string) =>
  unwrap(client.PATCH('/api/operator/aliases/{alias}', { params: { path: { alias } }, body: { version, model } }))

export const deleteAlias = (alias: string) =>
  unwrap(client.DELETE('/api/operator/aliases/{alias}', { params: { path: { alias } } }))

/** Pages of models show their aliases. */
export function refreshCatalogueAliases(queries: QueryClient) {
  void refreshModels(queries)
  return queries.invalidateQueries(catalogueAliasesQuery)
}

/** The Model Library shows the same models. */
export function refreshModels(queries: QueryClient) {
  void queries.invalidateQueries({ queryKey: ['models'] })
  return queries.invalidateQueries({ queryKey: KEY })
}

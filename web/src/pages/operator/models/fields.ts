/** Fields of a model's forms, and their conversion into requests. */

import type { ModelEdit, NewModel, OperatorModel, OperatorUpstream } from '../../../api/operator/catalogue'

const MODALITIES = ['chat', 'embedding', 'rerank'] as const
export type Modality = (typeof MODALITIES)[number]

/** Whether servers are probed. Empty: those whose engine is a known kind, or as the server is configured. */
export type ProbeSwitch = '' | 'on' | 'off'

/** What clients see of a model. Empty text means the default. */
export type DetailFields = {
  name: string
  modality: Modality
  contextLength: number | undefined
  inputPer1m: string
  cachedInputPer1m: string
  outputPer1m: string
  /** Rerank only. */
  per1kSearches: string
  /** A share of the prices, for batches and flex calls. */
  batchDiscount: string
  /** The share of a replica that they may take; undefined: the default. */
  batchShare: number | undefined
  /** How long interactive calls wait for room, such as `30s`. */
  queueTimeout: string
  sharePrefixCache: boolean
  probe: ProbeSwitch
  /** Undefined: by the prefix of the id. */
  optimized: boolean | undefined
  /** Chat only, as the next ones. */
  failover: boolean
  mediaUrls: boolean
  mergeSystem: boolean
  /** Empty: by the kind of the engine. */
  thinking: string
  reasoningNames: string
  streamTools: boolean
  /** Undefined: the default. */
  imageSquare: number | undefined
  maxImageTokens: number | undefined
}

export type UpstreamFields = {
  url: string
  model: string
  /** Empty: the stored key stays, if there is one. */
  apiKey: string
  hasKey: boolean
  removesKey: boolean
  maxInFlight: number | undefined
  /** Empty if it is not known. */
  engine: string
  /** vLLM with `--scheduling-policy priority`. */
  priorityScheduling: boolean
  /** Members that the form does not show are sent back unchanged. */
  rest: Pick<OperatorUpstream, 'healthPath' | 'continuousUsage' | 'native'> | undefined
}

export const EMPTY_DETAILS: DetailFields = {
  name: '',
  modality: 'chat',
  contextLength: undefined,
  inputPer1m: '',
  cachedInputPer1m: '',
  outputPer1m: '',
  per1kSearches: '',
  batchDiscount: '',
  batchShare: undefined,
  queueTimeout: '',
  sharePrefixCache: false,
  probe: '',
  optimized: undefined,
  failover: false,
  mediaUrls: false,
  mergeSystem: false,
  thinking: '',
  reasoningNames: 'both',
  streamTools: true,
  imageSquare: undefined,
  maxImageTokens: undefined,
}

export const EMPTY_UPSTREAM: UpstreamFields = {
  url: '',
  model: '',
  apiKey: '',
  hasKey: false,
  removesKey: false,
  maxInFlight: undefined,
  engine: '',
  priorityScheduling: false,
  rest: undefined,
}

/** Null or absent stands for the default. */
const probeSwitchOf = (probe: boolean | null | undefined): ProbeSwitch => {
  if (probe === null || probe === undefined) return ''
  return probe ? 'on' : 'off'
}

export const detailsOf = (model: OperatorModel): DetailFields => ({
  name: model.name,
  modality: MODALITIES.find((known) => known === model.modality) ?? 'chat',
  contextLength: model.contextLength,
  inputPer1m: model.inputPer1m,
  cachedInputPer1m: model.cachedInputPer1m,
  outputPer1m: model.outputPer1m,
  per1kSearches: model.per1kSearches,
  batchDiscount: model.batchDiscount,
  batchShare: model.batchShare,
  queueTimeout: model.queueTimeout,
  sharePrefixCache: model.sharePrefixCache,
  probe: probeSwitchOf(model.probe),
  optimized: model.optimized,
  failover: model.failover,
  mediaUrls: model.mediaUrls,
  mergeSystem: model.mergeSystem,
  thinking: model.thinking ?? '',
  reasoningNames: model.reasoningNames,
  streamTools: model.streamTools,
  imageSquare: model.imageSquare,
  maxImageTokens: model.maxImageTokens,
})

export const upstreamsOf = (model: OperatorModel): UpstreamFields[] =>
  model.upstreams.map(({ url, model, hasKey, maxInFlight, engine, priorityScheduling, ...others }) => ({
    ...EMPTY_UPSTREAM,
    url,
    model,
    hasKey,
    maxInFlight: maxInFlight ?? undefined,
    engine: engine ?? '',
    priorityScheduling,
    rest: { healthPath: others.healthPath, continuousUsage: others.continuousUsage, native: others.native },
  }))

/** Members of a request; null stands for the default. */
export const toDetails = (fields: DetailFields) => ({
  name: fields.name.trim() || null,
  modality: fields.modality,
  contextLength: fields.contextLength ?? null,
  inputPer1m: fields.inputPer1m.trim() || null,
  cachedInputPer1m: fields.cachedInputPer1m.trim() || null,
  outputPer1m: fields.outputPer1m.trim() || null,
  per1kSearches: (fields.modality === 'rerank' && fields.per1kSearches.trim()) || null,
  batchDiscount: fields.batchDiscount.trim() || null,
  batchShare: fields.batchShare ?? null,
  queueTimeout: fields.queueTimeout.trim() || null,
  sharePrefixCache: fields.sharePrefixCache,
  probe: fields.probe === '' ? null : fields.probe === 'on',
  optimized: fields.optimized ?? null,
  ...(fields.modality === 'chat'
    ? {
        failover: fields.failover,
        mediaUrls: fields.mediaUrls,
        mergeSystem: fields.mergeSystem,
        thinking: fields.thinking || null,
        reasoningNames: fields.reasoningNames === 'both' ? null : fields.reasoningNames,
        streamTools: fields.streamTools ? null : false,
        imageSquare: fields.imageSquare ?? null,
        maxImageTokens: fields.maxImageTokens ?? null,
      }
    : {
        failover: false,
        mediaUrls: false,
        mergeSystem: false,
        thinking: null,
        reasoningNames: null,
        streamTools: null,
        imageSquare: null,
        maxImageTokens: null,
      }),
})

/** A key that is not typed is left out, so that the stored one stays. */
export function toUpstream(fields: UpstreamFields): NonNullable<NewModel['upstreams']>[number] {
  const { healthPath, continuousUsage, native } = fields.rest ?? {}
  return {
    url: fields.url.trim(),
    ...(fields.model.trim() ? { model: fields.model.trim() } : {}),
    ...(fields.apiKey.trim() ? { apiKey: fields.apiKey.trim() } : fields.removesKey ? { apiKey: null } : {}),
    ...(fields.maxInFlight === undefined ? {} : { maxInFlight: fields.maxInFlight }),
    ...(healthPath ? { healthPath } : {}),
    ...(continuousUsage === undefined ? {} : { continuousUsage }),
    ...(fields.engine ? { engine: fields.engine } : {}),
    ...(fields.priorityScheduling ? { priorityScheduling: true } : {}),
    ...(native?.length ? { native } : {}),
  }
}

/** Only what was changed, so that a change of a price does not touch the servers. */
export function editOf(model: OperatorModel, details: DetailFields, upstreams: UpstreamFields[]): ModelEdit {
  const [before, after] = [toDetails(detailsOf(model)), toDetails(details)]
  const changed = Object.entries(after).filter(([name, value]) => before[name as keyof typeof before] !== value)
  const servers = upstreams.map(toUpstream)
  const isSame = JSON.stringify(servers) === JSON.stringify(upstreamsOf(model).map(toUpstream))
  const edit: ModelEdit = {
    version: model.version ?? 0,
    ...Object.fromEntries(changed),
    ...(isSame ? {} : { upstreams: servers }),
  }
  // Without a cached price of its own, a model has its input price: what the form shows is sent, so that it stays.
  if ('inputPer1m' in edit && !('cachedInputPer1m' in edit)) edit.cachedInputPer1m = after.cachedInputPer1m
  return edit
}

/** Whether an edit changes anything. */
export const hasChanges = (edit: ModelEdit) => Object.keys(edit).length > 1

const MAX_ID = 128

/** A valid Model ID like the name at the server: `Qwen/Qwen3-8B` becomes `qwen/qwen3-8b`, `llama` `local/llama`. */
export function suggestId(offered: string): string {
  const parts = offered
    .toLowerCase()
    .split('/')
    .map((part) => part.replace(/[^a-z0-9\-._:@]+/g, '-').replace(/^[-.]+|[-.]+$/g, ''))
    .filter(Boolean)
    .slice(-2)
  if (parts.length === 0) return ''
  return (parts.length === 1 ? `local/${parts[0]}` : parts.join('/')).slice(0, MAX_ID)
}

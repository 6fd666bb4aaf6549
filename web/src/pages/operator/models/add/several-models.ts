/** Several models of one server that are added in one pass. */

import type { NewModel, UpstreamProbe } from '../../../../api/operator/catalogue'
import { EMPTY_UPSTREAM, type Modality, suggestId, toUpstream, type UpstreamFields } from '../fields'

export type OfferedModel = { offered: string; id: string; modality: Modality }
/** What became of a model. */
export type Outcome = { kind: 'added' } | { kind: 'failed'; message: string }

const EMBEDS = /embed|bge|gte-|e5-|minilm/i

/** What a form suggests for a model; only the first one was called, so the modality of others is guessed by their names. */
export const suggestModel = (offered: string): OfferedModel => ({
  offered,
  id: suggestId(offered),
  modality: EMBEDS.test(offered) ? 'embedding' : 'chat',
})

/** Keeps what the server said about itself. */
export const upstreamOf = (probe: UpstreamProbe, model: string, apiKey: string): UpstreamFields => ({
  ...EMPTY_UPSTREAM,
  url: probe.url,
  model,
  apiKey,
  engine: probe.engine ?? '',
  rest: probe.healthPath
    ? { healthPath: probe.healthPath, continuousUsage: probe.call?.continuousUsage ?? false, native: [] }
    : undefined,
})

export const requestOf = (probe: UpstreamProbe, apiKey: string, { offered, id, modality }: OfferedModel): NewModel => ({
  id: id.trim(),
  modality,
  contextLength: probe.models.find((one) => one.id === offered)?.contextLength ?? undefined,
  upstreams: [toUpstream(upstreamOf(probe, offered, apiKey))],
})

/** Those that are not added yet. */
export const remaining = (models: readonly OfferedModel[], outcomes: ReadonlyMap<string, Outcome>) =>
  models.filter(({ offered }) => outcomes.get(offered)?.kind !== 'added')

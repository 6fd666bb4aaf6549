/** Fields of a new model. What serves it has one of three sources. */

import type { NewModel } from '../../../../api/operator/catalogue'
import { type DetailFields, EMPTY_DETAILS, toDetails, toUpstream, type UpstreamFields } from '../fields'
import { type FlavorFields, toArgs, toFlavor } from '../flavors/flavor-fields'

export type EngineFields = {
  weights: string
  replicas: number | undefined
  parallel: number | undefined
  /** Separated by spaces. */
  args: string
}

/** As in a request, so that fields have the names that errors use. */
export type Serving =
  | { upstreams: [UpstreamFields] } // a server that is connected
  | { engine: EngineFields } // an engine that runs on this machine
  | { flavors: [FlavorFields] } // dedicated endpoints

export type NewModelFields = DetailFields & { id: string } & Serving

/** What a source knows of the model; all other fields are empty. */
export type Found = Partial<DetailFields> & { id: string } & Serving

export const fieldsOf = (found: Found): NewModelFields => ({ ...EMPTY_DETAILS, ...found })

export function toNewModel({ id, ...fields }: NewModelFields): NewModel {
  return { id: id.trim(), ...toDetails(fields), ...toServing(fields) }
}

function toServing(serving: Serving): Partial<NewModel> {
  if ('upstreams' in serving) return { upstreams: serving.upstreams.map(toUpstream) }
  if ('flavors' in serving) return { flavors: serving.flavors.map(toFlavor) }
  const { args, ...engine } = serving.engine
  return { engine: { ...engine, args: toArgs(args) } }
}

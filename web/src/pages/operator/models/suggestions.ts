/** Values of fields that are known from the weights and the GPUs, until the field is changed by hand. */

import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { FormPart } from '../../../api/form'
import { TYPING_MS } from '../../../api/operator/catalogue'
import { type WeightsLookup, weightsLookupQuery } from '../../../api/operator/weights'

/** An engine of llama.cpp allocates memory for a whole context; longer ones are a choice. */
export const SUGGESTED_CONTEXT = 8_192
const ALLOCATES_CONTEXT = ['forebay-engine', 'llama-server']
const PRECISION = /(?:^|[-._/])(i?q\d(?:_\w+)?|bf16|f16|fp16|f32|fp32|fp8|nvfp4|mxfp4|int8|int4|awq|gptq)(?=[-._/]|$)/i

/** `tiny.Q4_K_M.gguf` is `q4_k_m`; empty if the name does not say it. */
export const precisionOf = (name: string) => PRECISION.exec(name)?.[1]?.toLowerCase() ?? ''

/** The context that a model with these weights starts with. */
export function contextOf({ contextLength }: WeightsLookup, engine: string): number | undefined {
  const trained = contextLength ?? undefined
  return trained && ALLOCATES_CONTEXT.includes(engine) ? Math.min(trained, SUGGESTED_CONTEXT) : trained
}

/** What the hub knows of weights that are being typed; undefined for paths, and while it is not known. */
export function useWeightsLookup(weights: string | undefined): WeightsLookup | undefined {
  const [settled] = useDebouncedValue(weights?.trim() ?? '', TYPING_MS)
  return useQuery({ ...weightsLookupQuery(settled), enabled: /^hf:\/\/[^/]+\/[^/]/.test(settled) }).data
}

/** What is known for fields that still have what was suggested before. */
export function suggested<Fields extends object>(known: Partial<Fields>, before: Fields, fields: Fields) {
  const names = Object.keys(known) as (keyof Fields)[]
  const open = names.filter((name) => fields[name] === before[name] && fields[name] !== known[name])
  return Object.fromEntries(open.map((name) => [name, known[name]])) as Partial<Fields>
}

/** Fills fields of a new record that starts with the values of `start`. */
export function useSuggestions<Fields extends object>(
  { fields, change }: Pick<FormPart<Fields>, 'fields' | 'change'>,
  start: Fields,
  known: Partial<Fields>,
) {
  const before = useRef(start)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is typed afterwards stays.
  useEffect(() => {
    const changes = suggested(known, before.current, fields)
    before.current = { ...before.current, ...changes }
    if (Object.keys(changes).length > 0) change(changes)
  }, [JSON.stringify(Object.entries(known))])
}

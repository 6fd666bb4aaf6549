/** Converts between the scaling fields of a form and those of the API. */

import type { Endpoint, EndpointChange } from '../../../api/endpoints'
import { formatDuration } from '../../../ui/format'
import type { Bounds } from '../allotment/estimate'

export const METRICS = ['concurrency', 'kv-cache-utilization'] as const
export type Metric = (typeof METRICS)[number]

/** A number field, which may be empty while the user types. */
export type Field = number | ''
export type ScalingFields = {
  mode: 'fixed' | 'auto'
  replicas: Field
  min: Field
  max: Field
  metric: Metric
  target: Field
  scaleToZeroSecs: Field
  scaleUpSecs: Field
  scaleDownSecs: Field
}

/** Valid ranges of the API; a test compares those that the schema has. */
export const RANGES = {
  replicas: [1, 64],
  min: [0, 64],
  max: [1, 64],
  concurrency: [1, 1024],
  'kv-cache-utilization': [0.1, 0.95],
  scaleToZeroSecs: [60, 86_400],
  scaleUpSecs: [0, 3_600],
  scaleDownSecs: [0, 3_600],
} as const satisfies Record<string, readonly [number, number]>

export const DEFAULT_KV_TARGET = 0.7
const DEFAULT_CONCURRENCY = 16

/** The defaults of the API. */
export const defaultScaling = (target = DEFAULT_CONCURRENCY): ScalingFields => ({
  mode: 'auto',
  replicas: 1,
  min: 1,
  max: 1,
  metric: 'concurrency',
  target,
  scaleToZeroSecs: 3_600,
  scaleUpSecs: 30,
  scaleDownSecs: 600,
})

export function scalingOf(endpoint: Endpoint): ScalingFields {
  const isFixed = endpoint.replicas != null
  return {
    mode: isFixed ? 'fixed' : 'auto',
    replicas: endpoint.replicas ?? Math.max(1, endpoint.maxReplicas ?? 1),
    min: endpoint.minReplicas ?? endpoint.replicas ?? 1,
    max: endpoint.maxReplicas ?? endpoint.replicas ?? 1,
    metric: endpoint.autoscalingMetric === 'kv-cache-utilization' ? 'kv-cache-utilization' : 'concurrency',
    target: endpoint.autoscalingTarget,
    scaleToZeroSecs: endpoint.scaleToZeroWindowSeconds,
    scaleUpSecs: endpoint.scaleUpWindowSeconds,
    scaleDownSecs: endpoint.scaleDownWindowSeconds,
  }
}

export type FieldErrors = Partial<Record<keyof ScalingFields, string>>

/** Error messages of invalid fields, by field name. */
export function fieldErrorsOf(fields: ScalingFields): FieldErrors {
  const errors: FieldErrors = {}
  const check = (name: keyof ScalingFields, [least, most]: readonly [number, number], isWhole = true) => {
    const value = fields[name]
    if (typeof value !== 'number' || value < least || value > most)
      errors[name] = `Must be between ${least} and ${most}`
    else if (isWhole && !Number.isInteger(value)) errors[name] = 'Must be a whole number'
  }
  if (fields.mode === 'fixed') {
    check('replicas', RANGES.replicas)
    return errors
  }
  check('min', RANGES.min)
  check('max', RANGES.max)
  check('target', RANGES[fields.metric], fields.metric === 'concurrency')
  check('scaleUpSecs', RANGES.scaleUpSecs)
  check('scaleDownSecs', RANGES.scaleDownSecs)
  if (fields.min === 0) check('scaleToZeroSecs', RANGES.scaleToZeroSecs)
  if (!errors.min && !errors.max && Number(fields.min) > Number(fields.max))
    errors.max = 'Must not be less than the minimum'
  return errors
}

/** Minimum and maximum replicas; undefined while the fields are invalid. */
export function boundsOf(fields: ScalingFields): Bounds | undefined {
  const errors = fieldErrorsOf(fields)
  if (fields.mode === 'fixed') {
    return errors.replicas ? undefined : { least: Number(fields.replicas), most: Number(fields.replicas) }
  }
  return errors.min || errors.max ? undefined : { least: Number(fields.min), most: Number(fields.max) }
}

/** The request body. Fields of the other mode are omitted. */
export function toScaling(fields: ScalingFields): EndpointChange {
  if (fields.mode === 'fixed') return { replicas: Number(fields.replicas) }
  return {
    minReplicas: Number(fields.min),
    maxReplicas: Number(fields.max),
    autoscalingMetric: fields.metric,
    autoscalingTarget: Number(fields.target),
    scaleUpWindowSeconds: Number(fields.scaleUpSecs),
    scaleDownWindowSeconds: Number(fields.scaleDownSecs),
    ...(fields.min === 0 ? { scaleToZeroWindowSeconds: Number(fields.scaleToZeroSecs) } : {}),
  }
}

/** The changes with which an endpoint is resumed with at most this number of replicas; none if that is what it has. */
export function resumedWith(
  endpoint: Pick<Endpoint, 'replicas' | 'minReplicas' | 'maxReplicas'>,
  most: number,
): EndpointChange {
  if (endpoint.replicas != null) return endpoint.replicas === most ? {} : { replicas: most }
  if (endpoint.maxReplicas === most) return {}
  return { minReplicas: Math.min(endpoint.minReplicas ?? 0, most), maxReplicas: most }
}

/** `Fixed: 2 replicas`, `0 to 3 replicas`. */
export function describeReplicas({ replicas, minReplicas, maxReplicas }: Endpoint): string {
  if (replicas != null) return `Fixed: ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`
  return minReplicas === maxReplicas
    ? `Always ${maxReplicas} ${maxReplicas === 1 ? 'replica' : 'replicas'}`
    : `${minReplicas} to ${maxReplicas} replicas`
}

/** The autoscaling target as text. */
export function describeTarget({ autoscalingMetric, autoscalingTarget }: Endpoint): string {
  return autoscalingMetric === 'kv-cache-utilization'
    ? `${Math.round(autoscalingTarget * 100)}% KV-cache usage per replica`
    : `${autoscalingTarget} concurrent calls per replica`
}

export const describeWindow = (secs: number) => (secs === 0 ? 'immediately' : formatDuration(secs * 1_000))

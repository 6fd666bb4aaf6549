/** The scaling of an endpoint as a form has it, and as the API does. */

import type { Endpoint, EndpointChange } from '../../../api/endpoints'
import { formatDuration } from '../../../ui/format'
import type { Bounds } from '../allotment/estimate'

export const METRICS = ['concurrency', 'kv-cache-utilization'] as const
export type Metric = (typeof METRICS)[number]

/** Fields may be empty while somebody types. */
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

/** What the API takes. */
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

/** As the API fills in what is not sent. */
export const defaultScaling = (target = DEFAULT_CONCURRENCY): ScalingFields => ({
  mode: 'auto',
  replicas: 1,
  min: 0,
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

export type Faults = Partial<Record<keyof ScalingFields, string>>

/** What is wrong with the fields, by their name. */
export function faultsOf(fields: ScalingFields): Faults {
  const faults: Faults = {}
  const check = (name: keyof ScalingFields, [least, most]: readonly [number, number], isWhole = true) => {
    const value = fields[name]
    if (typeof value !== 'number' || value < least || value > most) faults[name] = `From ${least} to ${most}`
    else if (isWhole && !Number.isInteger(value)) faults[name] = 'A whole number'
  }
  if (fields.mode === 'fixed') {
    check('replicas', RANGES.replicas)
    return faults
  }
  check('min', RANGES.min)
  check('max', RANGES.max)
  check('target', RANGES[fields.metric], fields.metric === 'concurrency')
  check('scaleUpSecs', RANGES.scaleUpSecs)
  check('scaleDownSecs', RANGES.scaleDownSecs)
  if (fields.min === 0) check('scaleToZeroSecs', RANGES.scaleToZeroSecs)
  if (!faults.min && !faults.max && Number(fields.min) > Number(fields.max)) faults.max = 'Not fewer than the minimum'
  return faults
}

/** How many replicas run; nothing while the fields are not right. */
export function boundsOf(fields: ScalingFields): Bounds | undefined {
  const faults = faultsOf(fields)
  if (fields.mode === 'fixed') {
    return faults.replicas ? undefined : { least: Number(fields.replicas), most: Number(fields.replicas) }
  }
  return faults.min || faults.max ? undefined : { least: Number(fields.min), most: Number(fields.max) }
}

/** What is sent. Fields that do not count in this mode are left out. */
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

/** `Fixed: 2 replicas`, `0 to 3 replicas`. */
export function describeReplicas({ replicas, minReplicas, maxReplicas }: Endpoint): string {
  if (replicas != null) return `Fixed: ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`
  return minReplicas === maxReplicas
    ? `Always ${maxReplicas} ${maxReplicas === 1 ? 'replica' : 'replicas'}`
    : `${minReplicas} to ${maxReplicas} replicas`
}

/** Against what the autoscaler measures. */
export function describeTarget({ autoscalingMetric, autoscalingTarget }: Endpoint): string {
  return autoscalingMetric === 'kv-cache-utilization'
    ? `${Math.round(autoscalingTarget * 100)}% KV-cache use per replica`
    : `${autoscalingTarget} calls at once per replica`
}

export const describeWindow = (secs: number) => (secs === 0 ? 'at once' : formatDuration(secs * 1_000))

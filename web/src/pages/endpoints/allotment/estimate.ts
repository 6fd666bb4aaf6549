/** Committed GPUs and cost of a number of replicas. Money is computed in whole nano-dollars. */

import type { Allotment } from '../../../api/endpoints'
import { nanoUsd } from '../../../ui/format'

/** Average length of a month. */
export const HOURS_PER_MONTH = 730n
const NANO_DIGITS = 9

/** Minimum and maximum number of replicas. */
export type Bounds = { least: number; most: number }
export type Hardware = { gpuType: string; gpuCount: number; pricePerGpuHour: string }

/** The maximum is committed, whether or not it runs. */
export const committedBy = ({ most }: Bounds, gpuCount: number): number => most * gpuCount

export type Cost = { hour: [least: string, most: string]; month: [least: string, most: string] }

/** Cost range in decimal dollars, as in the API; undefined if the price is not a number. */
export function costOf(bounds: Bounds, { gpuCount, pricePerGpuHour }: Hardware): Cost | undefined {
  const price = nanoUsd(pricePerGpuHour)
  if (price === undefined) return undefined
  const hour = (replicas: number) => BigInt(replicas * gpuCount) * price
  const [least, most] = [hour(bounds.least), hour(bounds.most)]
  return {
    hour: [decimal(least), decimal(most)],
    month: [decimal(least * HOURS_PER_MONTH), decimal(most * HOURS_PER_MONTH)],
  }
}

function decimal(nano: bigint): string {
  const unit = 10n ** BigInt(NANO_DIGITS)
  return `${nano / unit}.${(nano % unit).toString().padStart(NANO_DIGITS, '0')}`
}

export type Projection = {
  gpuType: string
  allotment: number
  /** GPUs committed by all other endpoints. */
  committed: number
  /** GPUs committed by this endpoint after the change; `released` is its current commitment. */
  added: number
  released: number
  free: number
  /** GPUs over the allotment; 0 if it fits. */
  need: number
}

/** The ledger after a change. Reducing a commitment always fits, even if the allotment was lowered below it. */
export function project(line: Allotment, added: number, released = 0): Projection {
  const others = line.committed - released
  const projected = others + added
  return {
    gpuType: line.gpuType,
    allotment: line.allotment,
    committed: others,
    added,
    released,
    free: Math.max(0, line.allotment - projected),
    need: added > released ? Math.max(0, projected - line.allotment) : 0,
  }
}

/** Number of replicas that fit in the remaining allotment. */
export const replicasThatFit = (line: Allotment, gpuCount: number, released = 0): number =>
  Math.max(0, Math.floor((line.allotment - (line.committed - released)) / gpuCount))

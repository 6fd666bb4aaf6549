/** What a wish for replicas commits and costs. GPUs and money are whole: money in nano-dollars. */

import type { Allotment } from '../../../api/endpoints'
import { nanoUsd } from '../../../ui/format'

/** So many hours has a month on the average. */
export const HOURS_OF_MONTH = 730n
const NANO_DIGITS = 9

/** The fewest and the most replicas that can run at once. */
export type Bounds = { least: number; most: number }
export type Hardware = { gpuType: string; gpuCount: number; pricePerGpuHour: string }

/** The ceiling is committed, whatever runs. */
export const committedBy = ({ most }: Bounds, gpuCount: number): number => most * gpuCount

export type Cost = { hour: [least: string, most: string]; month: [least: string, most: string] }

/** In decimal dollars, as the API writes them; undefined when the price is none. */
export function costOf(bounds: Bounds, { gpuCount, pricePerGpuHour }: Hardware): Cost | undefined {
  const price = nanoUsd(pricePerGpuHour)
  if (price === undefined) return undefined
  const hour = (replicas: number) => BigInt(replicas * gpuCount) * price
  const [least, most] = [hour(bounds.least), hour(bounds.most)]
  return {
    hour: [decimal(least), decimal(most)],
    month: [decimal(least * HOURS_OF_MONTH), decimal(most * HOURS_OF_MONTH)],
  }
}

function decimal(nano: bigint): string {
  const unit = 10n ** BigInt(NANO_DIGITS)
  return `${nano / unit}.${(nano % unit).toString().padStart(NANO_DIGITS, '0')}`
}

export type Projection = {
  gpuType: string
  allotment: number
  /** By everything else. */
  committed: number
  /** By this endpoint after the change; `released` is what it commits now. */
  added: number
  released: number
  free: number
  /** GPUs too many; 0 when it fits. */
  need: number
}

/** The ledger after a change. What only gives back always fits, also where a cap was cut below what is committed. */
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

/** The most replicas that fit beside everything else. */
export const replicasThatFit = (line: Allotment, gpuCount: number, released = 0): number =>
  Math.max(0, Math.floor((line.allotment - (line.committed - released)) / gpuCount))

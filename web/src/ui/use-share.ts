/** How much of a limit is used. */

import { nanoUsd } from './format'

/** Share from which a bar warns. */
const WARN_SHARE = 0.8

/** A limit of zero is used up. */
export const shareOf = (used: number, limit: number) => (limit > 0 ? used / limit : 1)

/** The same for amounts in USD. */
export const shareOfUsd = (usedUsd: string, usd: string) =>
  shareOf(Number(nanoUsd(usedUsd) ?? 0n), Number(nanoUsd(usd) ?? 0n))

/** What is left of an amount in USD, at least nothing. */
export function leftOfUsd(usedUsd: string, usd: string): bigint {
  const left = (nanoUsd(usd) ?? 0n) - (nanoUsd(usedUsd) ?? 0n)
  return left > 0n ? left : 0n
}

export const isNearLimit = (share: number) => share >= WARN_SHARE

/** The colour of a bar; reaching a soft limit only warns. */
export const toneOfShare = (share: number, isSoft = false) =>
  share >= 1 && !isSoft ? 'var(--fb-bad)' : isNearLimit(share) ? 'var(--fb-warn)' : 'var(--fb-busy)'

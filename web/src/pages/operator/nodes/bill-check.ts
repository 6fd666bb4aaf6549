/** Billed and counted tokens, in words and in order. */

import type { BilledReplica } from '../../../api/operator/nodes'
import { formatCount } from '../../../ui/format'

type Tokens = { promptTokens: number; completionTokens: number }

export const totalOf = ({ promptTokens, completionTokens }: Tokens) => promptTokens + completionTokens

/** With its sign, such as `+1,200`. */
export const formatDifference = (tokens: number) => `${tokens > 0 ? '+' : ''}${formatCount(tokens)}`

/** Replicas that were billed too much first, then by the size of the difference. */
export const byDifference = (replicas: readonly BilledReplica[]) =>
  [...replicas].sort(
    (one, other) =>
      Number(other.overbilled) - Number(one.overbilled) ||
      Math.abs(totalOf(other.difference)) - Math.abs(totalOf(one.difference)),
  )

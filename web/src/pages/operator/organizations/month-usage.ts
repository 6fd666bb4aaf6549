/** What an organization used this month. */

import type { Consumer } from '../../../api/operator/installation'
import { monthOf, spanOf } from '../../../ui/months'

/** The start of the current month in UTC. */
export const monthStart = () => spanOf(monthOf(Date.now())).from

/** Undefined without any usage. */
export const usageOf = (usage: readonly Consumer[] | undefined, organizationId: string) =>
  usage?.find(({ organization }) => organization?.id === organizationId)

export const tokensOf = ({ promptTokens, completionTokens }: Consumer) => promptTokens + completionTokens

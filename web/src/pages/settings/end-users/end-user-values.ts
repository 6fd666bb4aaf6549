/** Limits of end users as form values and as text. */

import type { EndUser, EndUserEdit, EndUserSettings } from '../../../api/end-users'
import { type BudgetRow, budgetsText, isBudget, rowsOf, toBudgets } from '../../keys/budgets'
import { limitsOf } from '../../keys/limits'

export type EndUserValues = {
  requestsPerMinute: number | undefined
  tokensPerMinute: number | undefined
  budgets: BudgetRow[]
}
export type DefaultValues = EndUserValues & { keepText: boolean }

type Limits = Pick<EndUser, 'requestsPerMinute' | 'tokensPerMinute' | 'budgets'>

export const valuesOf = ({ requestsPerMinute, tokensPerMinute, budgets }: Limits): EndUserValues => ({
  requestsPerMinute: requestsPerMinute ?? undefined,
  tokensPerMinute: tokensPerMinute ?? undefined,
  budgets: rowsOf(budgets ?? []),
})

export const defaultsOf = (settings: EndUserSettings): DefaultValues => ({
  ...valuesOf(settings),
  keepText: settings.keepText ?? false,
})

export const isComplete = ({ budgets }: EndUserValues) => budgets.every(isBudget)

export const toSettings = ({ keepText, requestsPerMinute, tokensPerMinute, budgets }: DefaultValues) => ({
  keepText,
  requestsPerMinute: requestsPerMinute ?? null,
  tokensPerMinute: tokensPerMinute ?? null,
  budgets: toBudgets(budgets),
})

/** What is empty follows the workspace. */
export const toEdit = ({ requestsPerMinute, tokensPerMinute, budgets }: EndUserValues): EndUserEdit => ({
  requestsPerMinute: requestsPerMinute ?? null,
  tokensPerMinute: tokensPerMinute ?? null,
  budgets: budgets.length ? toBudgets(budgets) : null,
})

/** Undefined if there are none. */
export const limitsText = (limits: Limits) =>
  [limitsOf(limits), budgetsText(limits.budgets ?? [])].filter((text) => text !== undefined).join(', ') || undefined

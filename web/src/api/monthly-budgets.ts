/** Monthly budgets of workspaces and organizations. Each has two amounts, of which the lower one applies. */

type Bounded = { monthlyUsd?: string | null; operatorMonthlyUsd?: string | null }

/** The amount of the administrators; null if there is none, or if it does not apply because the operator's is lower. */
export const ownBudget = ({ monthlyUsd, operatorMonthlyUsd }: Bounded) =>
  monthlyUsd === operatorMonthlyUsd ? null : (monthlyUsd ?? null)

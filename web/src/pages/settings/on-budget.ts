/** What becomes of running endpoints when a monthly budget is spent. */

export const ON_BUDGET = [
  { value: 'continue', label: 'Endpoints continue' },
  { value: 'suspend', label: 'Endpoints are suspended' },
] as const

export const onBudgetLabel = (value: string | number | null) =>
  ON_BUDGET.find((one) => one.value === value)?.label ?? `${value}`

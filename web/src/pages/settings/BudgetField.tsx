import { TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { formatMoney } from '../../ui/format'

type Props = {
  /** The operator's amount, which is not to be changed here. */
  operatorUsd?: string | null
  /** For the operator: the lower amount of the administrators. */
  adminUsd?: string | null
  /** Null for no budget. */
  value: string | number | null
  error?: ReactNode
  onChange: (usd: string | null) => void
}

/** A monthly budget in dollars, as decimal text. */
export function BudgetField({ operatorUsd, adminUsd, value, error, onChange }: Props) {
  const other = operatorUsd
    ? `the operator’s ${formatMoney(operatorUsd)} applies if lower`
    : adminUsd && `the administrators’ ${formatMoney(adminUsd)} applies`
  return (
    <TextInput
      label="USD per month"
      description={other || 'serverless calls and GPU-hours'}
      placeholder={operatorUsd ? `${formatMoney(operatorUsd)}, the operator’s` : 'No budget'}
      inputMode="decimal"
      autoComplete="off"
      leftSection="$"
      error={error}
      value={value ?? ''}
      onChange={(event) => onChange(event.currentTarget.value.trim() || null)}
    />
  )
}

import { Select } from '@mantine/core'
import { ON_BUDGET } from './on-budget'

type Props = { value: string | number | null; onChange: (value: string) => void }

/** What becomes of running endpoints when a monthly budget is spent. */
export function OnBudgetField({ value, onChange }: Props) {
  return (
    <Select
      label="When the budget is spent"
      description="serverless calls are rejected"
      data={[...ON_BUDGET]}
      allowDeselect={false}
      value={`${value}`}
      onChange={(chosen) => chosen && onChange(chosen)}
    />
  )
}

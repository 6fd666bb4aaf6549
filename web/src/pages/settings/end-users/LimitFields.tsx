import { SimpleGrid } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import { BudgetFields } from '../../keys/BudgetFields'

type Props = {
  // biome-ignore lint/suspicious/noExplicitAny: forms have other fields, too.
  form: UseFormReturnType<any>
  /** What applies to an empty field. */
  placeholder: string
}

/** Limits per minute and budgets of end users. */
export function LimitFields({ form, placeholder }: Props) {
  const limit = (name: string, label: string) => (
    <OptionalNumber
      label={label}
      placeholder={placeholder}
      min={1}
      allowDecimal={false}
      allowNegative={false}
      thousandSeparator=","
      {...form.getInputProps(name)}
    />
  )
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" maw={520}>
        {limit('requestsPerMinute', 'Requests per minute')}
        {limit('tokensPerMinute', 'Tokens per minute')}
      </SimpleGrid>
      <BudgetFields form={form} description="The most that calls of one end user may cost, in USD" />
    </>
  )
}

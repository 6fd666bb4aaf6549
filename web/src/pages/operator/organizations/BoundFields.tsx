import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import { BOUNDS, type Bounds } from './organization-bounds'

type Props = {
  // biome-ignore lint/suspicious/noExplicitAny: forms have other fields, too.
  form: UseFormReturnType<any>
  /** What is used of each bound. */
  used?: Partial<Record<keyof Bounds, string>>
}

/** Fields for what an organization may have at most. */
export function BoundFields({ form, used = {} }: Props) {
  return (
    <>
      {BOUNDS.map(({ name, label, unbounded, unit }) => (
        <OptionalNumber
          key={name}
          label={label}
          description={used[name]}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          placeholder={unbounded}
          min={0}
          allowDecimal={unit !== 1}
          allowNegative={false}
          thousandSeparator=","
          {...form.getInputProps(name)}
        />
      ))}
      <TextInput
        label="USD per month"
        description={used.monthlyUsd}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        placeholder="No budget"
        inputMode="decimal"
        autoComplete="off"
        leftSection="$"
        {...form.getInputProps('monthlyUsd')}
      />
    </>
  )
}

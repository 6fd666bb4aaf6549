import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import { BOUNDS } from './organization-bounds'

type Props = {
  // biome-ignore lint/suspicious/noExplicitAny: forms have other fields, too.
  form: UseFormReturnType<any>
}

/** Fields for what an organization may have at most. */
export function BoundFields({ form }: Props) {
  return (
    <>
      {BOUNDS.map(({ name, label, unbounded, unit }) => (
        <OptionalNumber
          key={name}
          label={label}
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
        placeholder="No budget"
        inputMode="decimal"
        autoComplete="off"
        leftSection="$"
        {...form.getInputProps('monthlyUsd')}
      />
    </>
  )
}

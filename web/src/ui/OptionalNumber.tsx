import { NumberInput, type NumberInputProps } from '@mantine/core'
import { useState } from 'react'

type Props = Omit<NumberInputProps, 'value' | 'onChange' | 'defaultValue'> & {
  value?: number
  onChange: (value: number | undefined) => void
}

/** Partial input such as `0.` stays text until it is a number. */
const numberOf = (typed: string | number) => {
  const number = typed === '' ? Number.NaN : Number(typed)
  return Number.isFinite(number) ? number : undefined
}

/** Number field that may be empty. */
export function OptionalNumber({ value, onChange, ...rest }: Props) {
  const [typed, setTyped] = useState<string | number>(value ?? '')
  // The value was changed from outside: "undo", or a saved record.
  if (numberOf(typed) !== value) setTyped(value ?? '')
  return (
    <NumberInput
      {...rest}
      value={typed}
      onChange={(next) => {
        setTyped(next)
        onChange(numberOf(next))
      }}
    />
  )
}

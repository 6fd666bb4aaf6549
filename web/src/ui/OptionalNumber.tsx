import { NumberInput, type NumberInputProps } from '@mantine/core'
import { useState } from 'react'

type Props = Omit<NumberInputProps, 'value' | 'onChange' | 'defaultValue'> & {
  value: number | undefined
  onChange: (value: number | undefined) => void
}

/** What is typed on the way to `0.05` is text for a while; a number that is too large for one stays what it says. */
const numberOf = (typed: string | number) => {
  const number = typed === '' ? Number.NaN : Number(typed)
  return Number.isFinite(number) ? number : undefined
}

/** A number that may be left out. */
export function OptionalNumber({ value, onChange, ...rest }: Props) {
  const [typed, setTyped] = useState<string | number>(value ?? '')
  // The value was changed elsewhere: "undo", or a saved record.
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

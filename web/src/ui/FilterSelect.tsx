import { Select, type SelectProps } from '@mantine/core'

type Props<Value extends string> = {
  label: string
  /** What it means that nothing is chosen. */
  placeholder: string
  data: SelectProps['data']
  /** Nothing is chosen where it is empty. */
  value: Value | ''
  onChange: (value: Value | '') => void
  searchable?: boolean
}

/** A filter that can be cleared, as the address has it: empty for any. */
export function FilterSelect<Value extends string>({ label, value, onChange, ...rest }: Props<Value>) {
  return (
    <Select
      aria-label={label}
      clearable
      value={value || null}
      onChange={(chosen) => onChange((chosen ?? '') as Value | '')}
      {...rest}
    />
  )
}

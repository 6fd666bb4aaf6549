import { Select, type SelectProps } from '@mantine/core'

type Props<Value extends string> = {
  label: string
  /** Shown when no value is selected, such as "Any state". */
  placeholder: string
  data: SelectProps['data']
  /** Empty if no value is selected. */
  value: Value | ''
  onChange: (value: Value | '') => void
  searchable?: boolean
  onSearchChange?: (typed: string) => void
}

/** Clearable filter whose empty value means "any", as in the URL. */
export function FilterSelect<Value extends string>({ label, value, onChange, ...rest }: Props<Value>) {
  return (
    <Select
      aria-label={label}
      clearable
      value={value || null}
      onChange={(selected) => onChange((selected ?? '') as Value | '')}
      {...rest}
    />
  )
}

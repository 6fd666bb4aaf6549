import { TextInput } from '@mantine/core'
import { useRef, useState } from 'react'
import { FieldPrefix } from './FieldPrefix'
import { formatDay, formatMinute } from './format'
import { parseDay, parseTime } from './typed-time'

const KINDS = {
  time: { format: (value: string) => formatMinute(value), parse: parseTime, example: '17 Nov 2026, 16:19' },
  day: { format: (value: string) => formatDay(value), parse: parseDay, example: '17 Nov 2026' },
}

type Props = {
  kind: keyof typeof KINDS
  /** Accessible name. */
  label: string
  /** Shown inside of the field. */
  prefix: string
  title?: string
  /** In RFC 3339, or a day such as `2026-11-17`; empty if there is none. */
  value: string
  error?: string
  onChange: (value: string) => void
}

/** A time or a day, typed in the console's format: the browser's own fields have that of its language. */
export function TimeField({ kind, label, prefix, title, value, error, onChange }: Props) {
  const { format, parse, example } = KINDS[kind]
  const [typed, setTyped] = useState(value && format(value))
  const sent = useRef(value)
  // The value was changed from outside: a zoom, or the browser's back button.
  if (value !== sent.current) {
    sent.current = value
    setTyped(value && format(value))
  }
  const isWrong = typed.trim() !== '' && parse(typed) === undefined
  const change = (text: string) => {
    setTyped(text)
    const parsed = text.trim() === '' ? '' : parse(text)
    if (parsed === undefined || parsed === value) return
    sent.current = parsed
    onChange(parsed)
  }
  return (
    <TextInput
      aria-label={label}
      title={title}
      placeholder={example}
      leftSection={<FieldPrefix>{prefix}</FieldPrefix>}
      leftSectionWidth={prefix.length > 2 ? 52 : 36}
      autoComplete="off"
      value={typed}
      error={isWrong ? `Write it as ${example}` : error}
      onChange={(event) => change(event.currentTarget.value)}
    />
  )
}

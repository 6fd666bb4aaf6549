import { CloseButton, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'

const DEBOUNCE_MS = 200

type Props = { value: string; onChange: (value: string) => void; label: string; placeholder?: string }

/** Debounced search field. */
export function SearchField({ value, onChange, label, placeholder }: Props) {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  // The value was changed from outside: "clear filters", or the browser's back button.
  if (value !== sent.current) {
    sent.current = value
    setTyped(value)
  }
  useEffect(() => {
    if (typed === sent.current) return
    const timer = setTimeout(() => {
      sent.current = typed
      onChange(typed)
    }, DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [typed, onChange])
  return (
    <TextInput
      type="search"
      aria-label={label}
      placeholder={placeholder ?? label}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={typed ? <CloseButton size="sm" aria-label="Clear search" onClick={() => setTyped('')} /> : null}
    />
  )
}

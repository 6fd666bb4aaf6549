import { Button, Group, JsonInput } from '@mantine/core'
import { useState } from 'react'

type Props<T> = {
  label: string
  /** What an empty field may be filled with. */
  example: object
  value: T | undefined
  /** Why nothing can be typed; what is typed already can be removed. */
  disabledReason?: string
  /** Converts parsed JSON; a string is why it cannot be used. */
  read: (json: unknown) => T | string
  onChange: (value: T | undefined) => void
}

/** JSON as text. What cannot be read is not sent, and the field says so. */
export function JsonField<T extends object>({ label, example, value, disabledReason, read, onChange }: Props<T>) {
  const [text, setText] = useState(() => (value ? JSON.stringify(value, null, 2) : ''))
  const [error, setError] = useState<string>()
  const change = (typed: string) => {
    setText(typed)
    const found = typed.trim() ? parsed(typed, read) : undefined
    setError(typeof found === 'string' ? `Not sent: ${found}` : undefined)
    onChange(typeof found === 'string' ? undefined : found)
  }
  return (
    <div>
      <JsonInput
        label={label}
        description={disabledReason}
        disabled={!!disabledReason && !text.trim()}
        rows={6}
        spellCheck={false}
        value={text}
        error={error}
        onChange={change}
        styles={{
          input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 'var(--mantine-font-size-xs)' },
        }}
      />
      {text.trim() || disabledReason ? null : (
        <Group justify="flex-end" mt={4}>
          <Button size="compact-xs" variant="default" onClick={() => change(JSON.stringify(example, null, 2))}>
            Insert an example
          </Button>
        </Group>
      )}
    </div>
  )
}

function parsed<T>(text: string, read: (json: unknown) => T | string): T | string {
  try {
    return read(JSON.parse(text))
  } catch {
    return 'this is not JSON'
  }
}

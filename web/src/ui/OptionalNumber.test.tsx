// @vitest-environment jsdom
import { MantineProvider } from '@mantine/core'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'
import { OptionalNumber } from './OptionalNumber'

function Form({ onValue }: { onValue: (value: number | undefined) => void }) {
  const [value, setValue] = useState<number>()
  const change = (next: number | undefined) => {
    setValue(next)
    onValue(next)
  }
  return (
    <MantineProvider>
      <OptionalNumber label="Top P" value={value} onChange={change} />
    </MantineProvider>
  )
}

it('accepts 0.05 typed character by character, and an empty value', async () => {
  const values: (number | undefined)[] = []
  render(<Form onValue={(value) => values.push(value)} />)
  const field = screen.getByLabelText('Top P')
  await userEvent.type(field, '0.05')
  expect((field as HTMLInputElement).value).toBe('0.05')
  expect(values.at(-1)).toBe(0.05)
  await userEvent.clear(field)
  expect(values.at(-1)).toBeUndefined()
})

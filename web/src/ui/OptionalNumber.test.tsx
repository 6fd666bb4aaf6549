// @vitest-environment jsdom
import { MantineProvider } from '@mantine/core'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'
import { OptionalNumber } from './OptionalNumber'

function Form({ tell }: { tell: (value: number | undefined) => void }) {
  const [value, setValue] = useState<number>()
  const change = (next: number | undefined) => {
    setValue(next)
    tell(next)
  }
  return (
    <MantineProvider>
      <OptionalNumber label="Top P" value={value} onChange={change} />
    </MantineProvider>
  )
}

it('lets 0.05 be typed, and nothing again', async () => {
  const told: (number | undefined)[] = []
  render(<Form tell={(value) => told.push(value)} />)
  const field = screen.getByLabelText('Top P')
  await userEvent.type(field, '0.05')
  expect((field as HTMLInputElement).value).toBe('0.05')
  expect(told.at(-1)).toBe(0.05)
  await userEvent.clear(field)
  expect(told.at(-1)).toBeUndefined()
})

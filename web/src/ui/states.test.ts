import { expect, it } from 'vitest'
import { displayIn } from './states'

it('shows a state of a newer server by its name', () => {
  const display = displayIn({ ready: { tone: 'ok', label: 'Ready', meaning: 'Serving calls' } })
  expect(display('ready').label).toBe('Ready')
  expect(display('melting')).toEqual({ tone: 'idle', label: 'melting' })
})

// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { renderInConsole } from '../testing'
import { SearchButton } from './SearchButton'

vi.mock('./Palette', () => {
  throw new Error('the file of another build')
})

it('offers to load the page again if the search cannot be loaded', async () => {
  renderInConsole(<SearchButton />)
  await userEvent.click(screen.getByRole('button', { name: /^Search/ }))
  expect(await screen.findByRole('button', { name: 'Load again' })).toBeDefined()
})

// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { renderInConsole } from '../testing'
import { Loaded } from './Loaded'

vi.mock('@tanstack/react-router', () => ({ useRouter: () => ({ history: { push: () => {} } }) }))

const show = (status: number) => {
  const error = Object.assign(new Error('no such key'), { status })
  renderInConsole(
    <Loaded
      query={{ data: undefined, error, refetch: () => {} }}
      skeleton={null}
      list={{ href: '/keys', label: 'All' }}
    >
      {() => null}
    </Loaded>,
  )
}

it('leads from a record that does not exist to all of its kind', () => {
  show(404)
  expect(screen.getByRole('heading', { name: 'Not found' })).toBeDefined()
  expect(screen.getByRole('link', { name: 'All' }).getAttribute('href')).toBe('/keys')
})

it('offers another try after any other error', () => {
  show(500)
  expect(screen.getByRole('button', { name: 'Try again' })).toBeDefined()
})

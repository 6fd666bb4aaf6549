// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { fakeApi, renderInConsole } from '../../../testing'
import { NeedsAttention } from './NeedsAttention'

it('reports checks that could not be loaded', async () => {
  fakeApi(({ path }) => (path.endsWith('/findings') ? undefined : { body: { data: [] } }))
  renderInConsole(<NeedsAttention />)
  expect((await screen.findByRole('alert')).textContent).toContain('The checks could not be loaded')
})

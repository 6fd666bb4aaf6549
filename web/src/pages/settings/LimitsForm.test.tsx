// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import type { Workspace } from '../../api/workspaces'
import { fakeApi, invalid, renderInConsole } from '../../testing'
import { LimitsForm } from './LimitsForm'

const workspace = {
  id: 'ws_1',
  name: 'Team',
  version: 3,
  requestsPerMinute: 60,
  tokensPerMinute: 1_000,
  monthlyTokens: 5_000,
  maxApiKeys: 10,
} as Workspace

it('reports an invalid value at its field, and sends only what was changed', async () => {
  const calls = fakeApi(() => invalid('monthlyTokens'))
  renderInConsole(<LimitsForm workspace={workspace} />)
  const save = screen.getByRole('button', { name: 'Save' })
  expect(save).toHaveProperty('disabled', true)
  const field = screen.getByLabelText('Tokens per month')
  await userEvent.clear(field)
  await userEvent.type(field, '999')
  await userEvent.click(save)
  await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'))
  expect(calls).toMatchObject([{ method: 'PATCH', body: { monthlyTokens: 999, version: 3 } }])

  await userEvent.click(screen.getByRole('button', { name: 'Undo changes' }))
  expect(field).toHaveProperty('value', '5,000')
  expect(save).toHaveProperty('disabled', true)
})

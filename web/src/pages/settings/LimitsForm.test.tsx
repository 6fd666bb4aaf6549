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
  defaults: { requestsPerMinute: 600, tokensPerMinute: 200_000, monthlyTokens: 50_000_000, maxApiKeys: 20 },
  onBudget: 'continue',
} as Workspace

it('reports an invalid value at its field, and sends only what was changed', async () => {
  const calls = fakeApi(() => invalid('monthlyTokens'))
  renderInConsole(<LimitsForm workspace={workspace} isOperator={false} />)
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

it('says which amount of the operator bounds the budget, and sends that of the administrators', async () => {
  const calls = fakeApi(() => invalid('monthlyUsd', 'is not an amount'))
  const bounded = { ...workspace, monthlyUsd: '500.00', operatorMonthlyUsd: '500.00' }
  renderInConsole(<LimitsForm workspace={bounded} isOperator={false} />)
  const field = screen.getByLabelText('USD per month')
  expect(field).toHaveProperty('value', '')
  expect(screen.getByRole('combobox', { name: 'When the budget is spent' })).toHaveProperty(
    'value',
    'Endpoints continue',
  )
  expect(screen.getByText('the operator’s $500.00 applies if lower')).toBeDefined()
  await userEvent.type(field, '20.50')
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  await screen.findByText('is not an amount')
  expect(calls).toMatchObject([{ method: 'PATCH', path: '/api/workspaces/ws_1', body: { monthlyUsd: '20.50' } }])
})

it('shows the operator their own amount, and the lower one that applies', () => {
  fakeApi(() => undefined)
  const bounded = { ...workspace, monthlyUsd: '50.00', operatorMonthlyUsd: '500.00' }
  renderInConsole(<LimitsForm workspace={bounded} isOperator />)
  expect(screen.getByLabelText('USD per month')).toHaveProperty('value', '500.00')
  expect(screen.getByText('the administrators’ $50.00 applies')).toBeDefined()
})

it('shows the operator the configured limits', () => {
  fakeApi(() => undefined)
  renderInConsole(<LimitsForm workspace={workspace} isOperator />)
  expect(screen.getByText('per calendar month (UTC); platform default 50,000,000')).toBeDefined()
})

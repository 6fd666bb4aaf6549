// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { fakeApi, renderInConsole } from '../../testing'
import { OrganizationBudget } from './OrganizationBudget'

it('changes and removes the administrators’ amount, beside the operator’s', async () => {
  let monthlyUsd: string | null = '200.00'
  const calls = fakeApi(({ method, body }) => {
    if (method === 'PATCH') monthlyUsd = (body as { monthlyUsd: string | null }).monthlyUsd ?? '500.00'
    return { body: { id: 'org_1', name: 'Acme', monthlyUsd, operatorMonthlyUsd: '500.00', onBudget: 'suspend' } }
  })
  renderInConsole(<OrganizationBudget organizationId="org_1" />)
  const field = await screen.findByLabelText('USD per month')
  expect(field).toHaveProperty('value', '200.00')
  expect(screen.getByText('the operator’s $500.00 applies if lower')).toBeDefined()
  await userEvent.clear(field)
  await userEvent.click(screen.getByRole('button', { name: 'Save budget' }))
  await screen.findByPlaceholderText('$500.00, the operator’s')
  const sent = calls.filter(({ method }) => method === 'PATCH').map(({ path, body }) => [path, body])
  expect(sent).toEqual([['/api/organizations/org_1', { monthlyUsd: null, onBudget: 'suspend' }]])
})

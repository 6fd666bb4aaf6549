// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { renderInConsole } from '../testing'
import { DataTable } from './DataTable'

it('shows ten thousand rows in parts, and finds one of them', async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => `row-${index}`)
  renderInConsole(
    <DataTable
      caption="Rows"
      columns={[{ id: 'name', header: 'Name', cell: (row) => row }]}
      rows={rows}
      rowKey={(row) => row}
      find={{ label: 'Find rows', text: (row) => row }}
    />,
  )
  expect(screen.getAllByText(/^row-/)).toHaveLength(50)
  expect(screen.getByText('50 of 10,000')).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Show more' }))
  expect(screen.getAllByText(/^row-/)).toHaveLength(100)
  await userEvent.type(screen.getByRole('searchbox'), 'row-9876')
  expect((await screen.findByText('row-9876')).textContent).toBe('row-9876')
  await expect.poll(() => screen.getAllByText(/^row-/).length).toBe(1)
})

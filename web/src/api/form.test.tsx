// @vitest-environment jsdom
import { TextInput } from '@mantine/core'
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { renderInConsole } from '../testing'
import { ApiError } from './errors'
import { partOf, useApiForm } from './form'

const rejection = (field: string | undefined) => new ApiError('api', { message: 'Not like this', code: 'x', field })

function Form({ send }: { send: (values: object) => Promise<unknown> }) {
  const { form, submit, error } = useApiForm({ initialValues: { name: '', servers: [{ url: 'a' }] }, send })
  const server = partOf<{ url: string }>(form, 'servers.0')
  return (
    <form onSubmit={submit}>
      <TextInput label="Name" {...form.getInputProps('name')} />
      <TextInput label="Address" {...server.input('url')} />
      <output>{error?.message}</output>
      <button type="submit">Save</button>
    </form>
  )
}

const isInvalid = (label: string) => screen.getByLabelText(label).getAttribute('aria-invalid') === 'true'

async function saveWith(field: string | undefined) {
  renderInConsole(<Form send={() => Promise.reject(rejection(field))} />)
  await userEvent.click(screen.getByText('Save'))
  await screen.findByText('Not like this')
}

it('shows an error of the API at the field that it names, until the field is edited', async () => {
  await saveWith('name')
  expect([isInvalid('Name'), isInvalid('Address'), screen.getByRole('status').textContent]).toEqual([true, false, ''])
  await userEvent.type(screen.getByLabelText('Name'), 'x')
  expect(isInvalid('Name')).toBe(false)
})

it('finds the field of a list', async () => {
  await saveWith('servers[0].url')
  expect([isInvalid('Name'), isInvalid('Address')]).toEqual([false, true])
})

it.each([undefined, 'servers[1].url', 'version'])('hands out an error at %s, which no field shows', async (field) => {
  await saveWith(field)
  expect([isInvalid('Name'), isInvalid('Address')]).toEqual([false, false])
  expect(screen.getByRole('status').textContent).toBe('Not like this')
})

it('sends the edited values', async () => {
  const sent: object[] = []
  renderInConsole(<Form send={async (values) => sent.push(values)} />)
  await userEvent.type(screen.getByLabelText('Name'), 'x')
  await userEvent.type(screen.getByLabelText('Address'), 'b')
  await userEvent.click(screen.getByText('Save'))
  expect(sent).toEqual([{ name: 'x', servers: [{ url: 'ab' }] }])
})

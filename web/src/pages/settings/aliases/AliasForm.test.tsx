// @vitest-environment jsdom
import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { fakeApi, invalid, renderInConsole } from '../../../testing'
import { AliasForm } from './AliasForm'

const nameField = () => screen.getByRole('textbox', { name: 'Name' })
const modelField = () => screen.getByRole('combobox', { name: 'Model' })
const isInvalid = (field: HTMLElement) => field.getAttribute('aria-invalid') === 'true'

it('reports an invalid alias at its field', async () => {
  const calls = fakeApi(({ method, path }) => {
    if (method !== 'PUT') return { body: { data: [] } }
    return path.endsWith('/wrong') ? invalid('name') : invalid('model', 'not the id of a model')
  })
  renderInConsole(<AliasForm workspaceId="ws_1" existing={[]} />)
  const save = screen.getByRole('button', { name: 'Save alias' })
  expect(save).toHaveProperty('disabled', true)
  await userEvent.type(nameField(), ' wrong ')
  await userEvent.type(modelField(), 'acme/none')
  await userEvent.click(save)
  await waitFor(() => expect([isInvalid(nameField()), isInvalid(modelField())]).toEqual([true, false]))
  expect(calls.filter(({ method }) => method === 'PUT')).toMatchObject([
    { body: { model: 'acme/none', replaces: null } },
  ])

  await userEvent.clear(nameField())
  await userEvent.type(nameField(), 'correct')
  expect(isInvalid(nameField())).toBe(false)
  await userEvent.click(save)
  await screen.findByText('not the id of a model')
  expect([isInvalid(nameField()), isInvalid(modelField())]).toEqual([false, true])
})

it('changes an alias that exists', async () => {
  fakeApi(() => ({ body: { data: [] } }))
  renderInConsole(<AliasForm workspaceId="ws_1" existing={[{ name: 'mine', model: 'acme/a' }]} />)
  await userEvent.type(nameField(), 'mine')
  await screen.findByText('Exists and means acme/a; saving changes it')
  expect(screen.getByRole('button', { name: 'Change alias' })).toBeTruthy()
})

// @vitest-environment jsdom
import { cleanup, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { renderInConsole } from '../../testing'
import { ChatSettings } from './ChatSettings'
import type { ModelOption } from './model-options'

const option = (id: string, capabilities = {}): ModelOption => ({
  id,
  name: id,
  isEndpoint: false,
  isUnavailable: false,
  capabilities,
})

it('finds a model by a part of its name', async () => {
  const chosen: string[][] = []
  renderInConsole(
    <ChatSettings
      options={['acme/llama-8b', 'acme/gemma-2b', 'acme/gemma-9b'].map((id) => option(id))}
      setup={{ models: ['acme/llama-8b'], system: '', parameters: {} }}
      onModels={(models) => chosen.push(models)}
      onSystem={() => {}}
      onParameters={() => {}}
      onLane={() => {}}
    />,
  )
  const field = screen.getByRole('combobox', { name: 'Model' })
  await userEvent.clear(field)
  await userEvent.type(field, 'gemma')
  const listed = screen.getAllByRole('option', { hidden: true }).map((one) => one.textContent ?? '')
  const found = listed.filter((name) => name.startsWith('acme/'))
  expect(found).toEqual(['acme/gemma-2b', 'acme/gemma-9b'])
  await userEvent.click(screen.getByRole('option', { name: 'acme/gemma-9b', hidden: true }))
  expect(chosen).toEqual([['acme/gemma-9b']])
})

it('offers what the chosen models do, and what is not known of them', async () => {
  const settings = (models: string[]) => (
    <ChatSettings
      options={[option('acme/new'), option('acme/old', { tools: false, reasoning: false, json_schema: true })]}
      setup={{ models, system: '', parameters: {} }}
      onModels={() => {}}
      onSystem={() => {}}
      onParameters={() => {}}
      onLane={() => {}}
    />
  )
  const isDisabled = (name: string) =>
    (screen.getByLabelText(name, { selector: 'input, textarea' }) as HTMLInputElement).disabled
  renderInConsole(settings(['acme/new']))
  expect([isDisabled('Tools'), isDisabled('Thinking effort')]).toEqual([false, false])
  cleanup()
  renderInConsole(settings(['acme/new', 'acme/old']))
  expect([isDisabled('Tools'), isDisabled('Thinking effort')]).toEqual([true, true])
  expect(screen.getByText('acme/old does not call tools')).toBeDefined()
  expect(screen.getByText('acme/old does not think apart from its text')).toBeDefined()
  expect(screen.queryByText(/JSON schemas/)).toBeNull()
})

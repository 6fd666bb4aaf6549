// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { renderInConsole } from '../../testing'
import { ChatSettings } from './ChatSettings'

const option = (id: string) => ({ id, name: id, isEndpoint: false, isUnavailable: false })

it('finds a model by a part of its name', async () => {
  const chosen: string[][] = []
  renderInConsole(
    <ChatSettings
      options={['acme/llama-8b', 'acme/gemma-2b', 'acme/gemma-9b'].map(option)}
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

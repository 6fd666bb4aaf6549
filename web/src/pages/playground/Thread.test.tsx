// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { renderInConsole } from '../../testing'
import { type Answer, emptyConversation, type Turn } from './conversation'
import { Thread } from './Thread'

const answer: Answer = { model: 'acme/one', state: 'done', text: '', parameters: {}, system: '' }
const calls = [{ id: 'c', type: 'function' as const, function: { name: 'get_weather', arguments: '{}' } }]

function show(turn: Partial<Turn>) {
  const continued: unknown[] = []
  const turns = [{ id: 't1', prompt: 'Weather?', answers: [answer], ...turn }]
  renderInConsole(
    <Thread
      conversation={{ ...emptyConversation('c'), turns }}
      options={[]}
      blocked={undefined}
      lanes={2}
      onResend={() => {}}
      onContinue={(...results) => continued.push(results)}
      onShowCode={() => {}}
    />,
  )
  return continued
}

it('takes the results of tools for the lane that calls them', async () => {
  const continued = show({
    answers: [
      { ...answer, text: 'Rain.' },
      { ...answer, calls },
    ],
  })
  await userEvent.type(screen.getByRole('textbox', { name: 'Result of get_weather' }), 'rain')
  await userEvent.click(screen.getByRole('button', { name: 'Continue' }))
  expect(continued).toEqual([[[{ id: 'c', name: 'get_weather', content: 'rain' }], 1]])
})

it('says that images were not kept, and offers neither to regenerate nor to edit without them', () => {
  show({ lostImages: 2, answers: [{ ...answer, text: 'A river.' }] })
  expect(screen.getByText('2 images, not kept')).toBeDefined()
  expect(screen.queryByRole('button', { name: 'Regenerate' })).toBeNull()
  expect(screen.queryByRole('button', { name: 'Edit message' })).toBeNull()
})

it('folds the reasoning of a response', () => {
  show({ answers: [{ ...answer, text: '4', reasoning: 'Two and two.' }] })
  expect(screen.getByText('Two and two.').closest('details')?.open).toBe(false)
})

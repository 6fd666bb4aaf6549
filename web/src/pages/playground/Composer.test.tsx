// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'
import { renderInConsole } from '../../testing'
import { Composer } from './Composer'

function Chat({ onSend }: { onSend: (prompt: string) => void }) {
  const [draft, setDraft] = useState('')
  const [images, setImages] = useState<string[]>([])
  const rest = { isBusy: false, blocked: undefined, onStop: () => {}, images, onImages: setImages }
  return <Composer draft={draft} onDraft={setDraft} onSend={onSend} {...rest} />
}

it('adds a line break with Shift+Enter, and sends with Enter', async () => {
  const sent: string[] = []
  renderInConsole(<Chat onSend={(prompt) => sent.push(prompt)} />)
  const box = screen.getByRole('textbox', { name: 'Message' })
  await userEvent.type(box, 'one{Shift>}{Enter}{/Shift}two')
  expect([box.textContent, sent]).toEqual(['one\ntwo', []])
  await userEvent.type(box, '{Enter}')
  expect([box.textContent, sent]).toEqual(['', ['one\ntwo']])
})

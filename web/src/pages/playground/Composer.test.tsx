// @vitest-environment jsdom
import { fireEvent, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it, vi } from 'vitest'
import { renderInConsole } from '../../testing'
import { Composer } from './Composer'

function Chat({ onSend = () => {}, noImages }: { onSend?: (prompt: string) => void; noImages?: string }) {
  const [draft, setDraft] = useState('')
  const [images, setImages] = useState<string[]>([])
  const rest = { isBusy: false, blocked: undefined, onStop: () => {}, images, onImages: setImages, noImages }
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

it('attaches an image that is pasted', async () => {
  vi.stubGlobal('createImageBitmap', () => Promise.reject(new Error('jsdom draws nothing')))
  renderInConsole(<Chat />)
  const files = [new File(['x'], 'sky.png', { type: 'image/png' })]
  fireEvent.paste(screen.getByRole('textbox', { name: 'Message' }), { clipboardData: { files } })
  expect(await screen.findByRole('img', { name: 'Image 1' })).toBeDefined()
  vi.unstubAllGlobals()
})

it('says why images cannot be attached or pasted', async () => {
  renderInConsole(<Chat noImages="acme/text does not read images" />)
  expect(screen.getByRole('button', { name: 'Attach images' }).ariaDisabled).toBe('true')
  const files = [new File(['x'], 'sky.png', { type: 'image/png' })]
  fireEvent.paste(screen.getByRole('textbox', { name: 'Message' }), { clipboardData: { files } })
  expect(screen.getByText(/acme\/text does not read images/)).toBeDefined()
  expect(screen.queryByRole('img')).toBeNull()
})

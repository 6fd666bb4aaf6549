// @vitest-environment jsdom
import { expect, it } from 'vitest'
import { renderInConsole } from '../testing'
import { withCode } from './with-code'

const shown = (message: string) => {
  const { container } = renderInConsole(<p>{withCode(message)}</p>)
  return { text: container.textContent, code: [...container.querySelectorAll('code')].map((one) => one.textContent) }
}

it('shows names in backticks of a message as code', () => {
  expect(shown('no model is called `acme/x`')).toMatchObject({
    text: expect.stringMatching(/called acme\/x$/),
    code: ['acme/x'],
  })
  expect(shown('a lone ` stays')).toMatchObject({ text: expect.stringContaining('a lone ` stays'), code: [] })
})

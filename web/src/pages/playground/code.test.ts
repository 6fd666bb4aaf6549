import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { codeFor, toMessages } from './code'

const request = {
  model: 'acme/one',
  messages: [{ role: 'user', content: `It's "quoted" \\ and\nbroken, $HOME \`x\` Grüße` }],
  stop: ['\n'],
  stream: true,
  seed: null,
}
const URL = 'https://forebay.example/v1'
const shown = (id: string) => codeFor('chat', request, URL).find((one) => one.id === id)?.code ?? ''

describe('code for a request', () => {
  it('sends exactly the same body with curl, whatever characters it contains', () => {
    const script = shown('curl').replace(/^curl/, 'print_last') // a function that prints its last argument
    const result = spawnSync('sh', ['-c', `print_last() { for last; do :; done; printf %s "$last"; }\n${script}`])
    expect(JSON.parse(result.stdout.toString())).toEqual(request)
    expect(script).toContain(`${URL}/chat/completions`)
  })

  it('is equivalent in Python', () => {
    const python = shown('python')
    expect(python).toContain('stream=True,')
    expect(python).toContain('seed=None,')
    expect(python).toContain('stop=["\\n"],')
    expect(python).toContain(JSON.stringify(request.messages[0]?.content))
  })

  it('is an object literal in Node', () => {
    expect(shown('node')).toContain(JSON.stringify(request, null, 2))
  })

  it('shows the same chat for the Messages API', () => {
    const system = { role: 'system', content: 'Be brief.' }
    const chat = { ...request, messages: [system, ...request.messages], temperature: 0, max_tokens: 9 }
    expect(toMessages(chat)).toEqual({
      model: 'acme/one',
      max_tokens: 9,
      system: 'Be brief.',
      messages: request.messages,
      stop_sequences: ['\n'],
      temperature: 0,
      stream: true,
    })
    expect(shown('messages')).toContain(`${URL}/messages`)
  })

  it('calls the embeddings API for embeddings', () => {
    const [curl, python, node] = codeFor('embeddings', { model: 'm', input: ['a'] }, URL).map((one) => one.code)
    expect(curl).toContain(`${URL}/embeddings`)
    expect(python).toContain('client.embeddings.create(\n    model="m",\n    input=["a"],\n)')
    expect(node).toContain('client.embeddings.create(')
  })
})

import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { codeFor, firstCall } from './snippets'
import { bodyFor, CHAT_SURFACES, type ChatSurface } from './surfaces'

const request = {
  model: 'acme/one',
  messages: [{ role: 'user', content: `It's "quoted" \\ and\nbroken, $HOME \`x\` Grüße` }],
  stop: ['\n'],
  stream: true,
  seed: null,
}
const URL = 'https://forebay.example/v1'
const shown = (id: string, surface: ChatSurface = 'chat', body: typeof request = request) =>
  codeFor(surface, body, URL).find((one) => one.id === id)?.code ?? ''

describe('code for a request', () => {
  it.each(CHAT_SURFACES)('sends exactly the same body with curl to %s, whatever characters it contains', (surface) => {
    const script = shown('curl', surface).replace(/^curl/, 'print_last') // a function that prints its last argument
    const result = spawnSync('sh', ['-c', `print_last() { for last; do :; done; printf %s "$last"; }\n${script}`])
    expect(JSON.parse(result.stdout.toString())).toEqual(bodyFor(surface, request))
    expect(script).toContain(`${URL}/${surface === 'chat' ? 'chat/completions' : surface} `)
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
    expect(shown('node', 'responses')).toContain(JSON.stringify(bodyFor('responses', request), null, 2))
  })

  it.each(['python', 'node'])('uses the Anthropic SDK without /v1 for Messages in %s', (id) => {
    const code = shown(id, 'messages')
    expect(code).toContain('Anthropic(')
    expect(code).toContain('"https://forebay.example"')
    expect(code).not.toContain('openai')
  })

  it('sends members that the Anthropic SDK for Python has no argument for in extra_body', () => {
    const code = shown('python', 'messages', { ...request, temperature: 0.5 } as typeof request)
    expect(code).toContain('extra_body={"temperature": 0.5},')
    expect(code).not.toContain('    temperature=')
  })

  it('is a first call with the address and a model', () => {
    const call = firstCall('acme/x', 'chat', URL)
    expect(call).toContain(`curl ${URL}/chat/completions`)
    expect(call).toContain('"acme/x"')
  })

  it('calls the embeddings API for embeddings', () => {
    const [curl, python, node] = codeFor('embeddings', { model: 'm', input: ['a'] }, URL).map((one) => one.code)
    expect(curl).toContain(`${URL}/embeddings`)
    expect(python).toContain('client.embeddings.create(\n    model="m",\n    input=["a"],\n)')
    expect(node).toContain('client.embeddings.create(')
  })
})

/** Shows a request as code that sends exactly the same body. */

import { bodyFor, type Request, type Surface } from './surfaces'

export type Snippet = {
  id: string
  label: string
  code: string
  /** Prerequisites, or where the code belongs. */
  note?: string
}
export type CodeSnippet = Snippet & { id: 'curl' | 'python' | 'node' }

/** The API has the same origin as the console. */
export const BASE_URL = `${globalThis.location?.origin ?? ''}/v1`

/** `baseUrl` ends with `/v1`. */
export function codeFor(surface: Surface, request: Request, baseUrl: string): CodeSnippet[] {
  const body = bodyFor(surface, request)
  return [
    { id: 'curl', label: 'curl', code: curl(surface, body, baseUrl) },
    { id: 'python', label: 'Python', code: python(surface, body, baseUrl) },
    { id: 'node', label: 'Node', code: node(surface, body, baseUrl) },
  ]
}

/** What a first request to a rerank model compares. */
export const RERANK_EXAMPLE = { query: 'What drives a turbine?', documents: ['Sand.', 'Falling water.'] }

/** A first request to a model that chats or embeds. */
export const helloTo = (model: string, modality: string): [Surface, Request] =>
  modality === 'embedding'
    ? ['embeddings', { model, input: ['water', 'river'] }]
    : ['chat', { model, messages: [{ role: 'user', content: 'Hello' }] }]

export function firstCall(model: string, modality: string, baseUrl: string = BASE_URL): string {
  if (modality === 'rerank') return curl('rerank', { model, ...RERANK_EXAMPLE }, baseUrl)
  const [surface, request] = helloTo(model, modality)
  return curl(surface, request, baseUrl)
}

/** How an API is called: its route, the method of its SDK, and how to print a response. */
type Call = { route: string; method: string; python: string; node: string }

const CALLS: Record<Surface, Call> = {
  chat: {
    route: 'chat/completions',
    method: 'chat.completions.create',
    python: `for chunk in response:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
    node: `for await (const chunk of response) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
}`,
  },
  messages: {
    route: 'messages',
    method: 'messages.create',
    python: `for event in response:
    if event.type == "content_block_delta" and event.delta.type == "text_delta":
        print(event.delta.text, end="", flush=True)`,
    node: `for await (const event of response) {
  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') process.stdout.write(event.delta.text)
}`,
  },
  responses: {
    route: 'responses',
    method: 'responses.create',
    python: `for event in response:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`,
    node: `for await (const event of response) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)
}`,
  },
  embeddings: {
    route: 'embeddings',
    method: 'embeddings.create',
    python: 'print([len(item.embedding) for item in response.data])',
    node: 'console.log(response.data.map((item) => item.embedding.length))',
  },
}

function curl(surface: Surface | 'rerank', body: Request, baseUrl: string): string {
  const credentials =
    surface === 'messages'
      ? `-H "x-api-key: $FOREBAY_API_KEY" \\
  -H "anthropic-version: 2023-06-01"`
      : `-H "Authorization: Bearer $FOREBAY_API_KEY"`
  return `curl ${body.stream ? '-N ' : ''}${baseUrl}/${surface === 'rerank' ? surface : CALLS[surface].route} \\
  ${credentials} \\
  -H "Content-Type: application/json" \\
  -d '${quoted(body)}'`
}

/** An apostrophe ends a quoted string in the shell. */
const quoted = (body: unknown) => JSON.stringify(body, null, 2).replaceAll("'", `'\\''`)

function python(surface: Surface, body: Request, baseUrl: string): string {
  const sdk = sdkOf(surface, baseUrl)
  return `import os
from ${sdk.package} import ${sdk.name}

client = ${sdk.name}(base_url=${JSON.stringify(sdk.baseUrl)}, api_key=os.environ["FOREBAY_API_KEY"])

response = client.${CALLS[surface].method}(
${pythonArguments(surface, body).join('\n')}
)
${CALLS[surface].python}`
}

function node(surface: Surface, body: Request, baseUrl: string): string {
  const sdk = sdkOf(surface, baseUrl)
  return `import ${sdk.name} from '${sdk.module}'

const client = new ${sdk.name}({ baseURL: ${JSON.stringify(sdk.baseUrl)}, apiKey: process.env.FOREBAY_API_KEY })

const response = await client.${CALLS[surface].method}(${JSON.stringify(body, null, 2)})
${CALLS[surface].node}`
}

/** The Anthropic SDKs add `/v1` themselves. */
const sdkOf = (surface: Surface, baseUrl: string) =>
  surface === 'messages'
    ? {
        package: 'anthropic',
        module: '@anthropic-ai/sdk',
        name: 'Anthropic',
        baseUrl: baseUrl.replace(/\/v1$/, ''),
      }
    : { package: 'openai', module: 'openai', name: 'OpenAI', baseUrl }

/** Recent versions of `anthropic` have no arguments for these; `extra_body` works in all. */
const NOT_IN_ANTHROPIC = ['temperature', 'top_p']

function pythonArguments(surface: Surface, body: Request): string[] {
  const isExtra = (name: string) => surface === 'messages' && NOT_IN_ANTHROPIC.includes(name)
  const members = Object.entries(body)
  const given = members.filter(([name]) => !isExtra(name))
  const extra = Object.fromEntries(members.filter(([name]) => isExtra(name)))
  const all = Object.keys(extra).length > 0 ? [...given, ['extra_body', extra] as const] : given
  return all.map(([name, value]) => `    ${name}=${indented(pythonOf(value))},`)
}

const indented = (text: string) => text.replaceAll('\n', '\n    ')

/** Converts JSON to Python literals: only `true`, `false` and `null` differ. */
function pythonOf(value: unknown, indent = ''): string {
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (value === null || value === undefined) return 'None'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const items = Array.isArray(value)
    ? value.map((one) => pythonOf(one, inner))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonOf(one, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const isShort = items.every((item) => !item.includes('\n')) && items.join(', ').length < 80
  if (isShort) return `${open}${items.join(', ')}${close}`
  return `${open}\n${items.map((item) => `${inner}${item},`).join('\n')}\n${indent}${close}`
}

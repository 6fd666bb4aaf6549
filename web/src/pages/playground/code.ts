/** Shows a request as code that sends exactly the same body. */

export type CodeSnippet = { id: string; label: string; code: string }
type Request = { model: string } & Record<string, unknown>
type Kind = 'chat' | 'embeddings'

const ROUTES: Record<Kind, string> = { chat: 'chat/completions', embeddings: 'embeddings' }

export function codeFor(kind: Kind, request: Request, baseUrl: string): CodeSnippet[] {
  const snippets = [
    { id: 'curl', label: 'curl', code: curl(kind, request, baseUrl) },
    { id: 'python', label: 'Python', code: python(kind, request, baseUrl) },
    { id: 'node', label: 'Node', code: node(kind, request, baseUrl) },
  ]
  return kind === 'chat'
    ? [...snippets, { id: 'messages', label: 'Messages', code: messages(request, baseUrl) }]
    : snippets
}

/** An apostrophe ends a quoted string in the shell. */
const quoted = (body: unknown) => JSON.stringify(body, null, 2).replaceAll("'", `'\\''`)

/** The same chat for Anthropic's Messages API. */
function messages(request: Request, baseUrl: string): string {
  return `curl -N ${baseUrl}/messages \\
  -H "x-api-key: $FOREBAY_API_KEY" \\
  -H "anthropic-version: 2023-06-01" \\
  -H "Content-Type: application/json" \\
  -d '${quoted(toMessages(request))}'`
}

type ChatMessage = { role: string; content: unknown }

/** Required by the Messages API; lowered to what the context leaves. */
const DEFAULT_MAX_TOKENS = 4096

/** Members that both APIs have under one name, and those that have another. Others exist only for chat. */
export function toMessages(request: Request): Record<string, unknown> {
  const all = (request.messages ?? []) as ChatMessage[]
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer'
  const system = all.filter(isSystem).map(({ content }) => String(content))
  const { stop } = request
  return {
    model: request.model,
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? DEFAULT_MAX_TOKENS,
    ...(system.length > 0 ? { system: system.join('\n') } : {}),
    messages: all.filter((message) => !isSystem(message)),
    ...(stop ? { stop_sequences: [stop].flat() } : {}),
    ...(request.temperature == null ? {} : { temperature: request.temperature }),
    ...(request.top_p == null ? {} : { top_p: request.top_p }),
    ...(request.stream ? { stream: true } : {}),
  }
}

function curl(kind: Kind, request: Request, baseUrl: string): string {
  const body = quoted(request)
  return `curl ${kind === 'chat' ? '-N ' : ''}${baseUrl}/${ROUTES[kind]} \\
  -H "Authorization: Bearer $FOREBAY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`
}

function python(kind: Kind, request: Request, baseUrl: string): string {
  const call = kind === 'chat' ? 'stream = client.chat.completions.create' : 'response = client.embeddings.create'
  const members = Object.entries(request).map(([name, value]) => `    ${name}=${indented(pythonOf(value))},`)
  const use =
    kind === 'chat'
      ? `for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
      : 'print([len(item.embedding) for item in response.data])'
  return `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(baseUrl)}, api_key=os.environ["FOREBAY_API_KEY"])

${call}(
${members.join('\n')}
)
${use}`
}

function node(kind: Kind, request: Request, baseUrl: string): string {
  const use =
    kind === 'chat'
      ? `for await (const chunk of response) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
}`
      : 'console.log(response.data.map((item) => item.embedding.length))'
  const call = kind === 'chat' ? 'chat.completions' : 'embeddings'
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)}, apiKey: process.env.FOREBAY_API_KEY })

const response = await client.${call}.create(${JSON.stringify(request, null, 2)})
${use}`
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

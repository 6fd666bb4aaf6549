/** The same chat as a request of each API that Forebay offers for chat models. */

export type Request = { model: string } & Record<string, unknown>
export const CHAT_SURFACES = ['chat', 'messages', 'responses'] as const
export type ChatSurface = (typeof CHAT_SURFACES)[number]
export type Surface = ChatSurface | 'embeddings'

type ChatMessage = { role: string; content: unknown }

/** Required by the Messages API; lowered to what the context leaves. */
const DEFAULT_MAX_TOKENS = 4096

/** The request body of an API. */
export function bodyFor(surface: Surface, request: Request): Request {
  if (surface === 'messages') return toMessages(request)
  return surface === 'responses' ? toResponses(request) : request
}

/** Set members of a chat request that the API does not have, such as `seed`. */
export function droppedMembers(surface: Surface, request: Request): string[] {
  const only: Partial<Record<Surface, string[]>> = { messages: ['seed'], responses: ['seed', 'stop'] }
  return (only[surface] ?? []).filter((member) => request[member] != null)
}

/** Whether a chat is shown for other APIs, too: they have other forms for tools, images, formats and thinking. */
export function isPlainChat(request: Request): boolean {
  const messages = (request.messages ?? []) as ChatMessage[]
  const hasExtras = ['tools', 'response_format', 'reasoning_effort'].some((member) => request[member] != null)
  return !hasExtras && messages.every(({ role, content }) => role !== 'tool' && typeof content === 'string')
}

/** Anthropic's Messages API. */
export function toMessages(request: Request): Request {
  const { system, messages } = split(request)
  return defined({
    model: request.model,
    max_tokens: maxTokens(request) ?? DEFAULT_MAX_TOKENS,
    system,
    messages,
    stop_sequences: request.stop == null ? undefined : [request.stop].flat(),
    temperature: request.temperature,
    top_p: request.top_p,
    stream: request.stream || undefined,
  })
}

/** OpenAI's Responses API. A chat is not stored, so neither is this. */
export function toResponses(request: Request): Request {
  const { system, messages } = split(request)
  return defined({
    model: request.model,
    instructions: system,
    input: messages,
    max_output_tokens: maxTokens(request),
    temperature: request.temperature,
    top_p: request.top_p,
    store: false,
    stream: request.stream || undefined,
  })
}

/** System messages apart from the others: both APIs have a member of their own for them. */
function split(request: Request): { system: string | undefined; messages: ChatMessage[] } {
  const all = (request.messages ?? []) as ChatMessage[]
  const isSystem = ({ role }: ChatMessage) => role === 'system' || role === 'developer'
  const system = all.filter(isSystem).map(({ content }) => String(content))
  return { system: system.join('\n') || undefined, messages: all.filter((message) => !isSystem(message)) }
}

const maxTokens = (request: Request) => request.max_completion_tokens ?? request.max_tokens ?? undefined

/** Without members that are unset. */
const defined = (members: Request): Request =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as Request

/**
 * A conversation as pure data and functions. It has one lane, or up to four for a comparison; a turn is a prompt, or the
 * results of tools, and one answer per lane. Conversations are stored in browsers, so their property names must stay.
 */

import type { ChatUsage } from '../../api/chat-stream'
import type { ChatMessage, ChatParameters, ChatRequest, ContentPart, ToolCall } from '../../api/inference'

export type AnswerState = 'streaming' | 'done' | 'stopped' | 'failed'
export type Answer = {
  model: string
  state: AnswerState
  text: string
  reasoning?: string
  /** Tools that the model calls. */
  calls?: ToolCall[]
  finish?: string
  usage?: ChatUsage
  /** The usage of a stopped response may be an estimate. */
  isEstimate?: boolean
  /** Set when the response has begun. */
  requestId?: string
  /** From the request to the first text or reasoning. */
  firstTokenMs?: number
  totalMs?: number
  failure?: { message: string; code?: string; requestId?: string }
  /** Settings of the request, so that its code can be shown later. */
  parameters: ChatParameters
  system: string
}
/** The result of a tool, typed by the user. */
export type ToolResult = { id: string; name: string; content: string }
/** Images are data URLs. A message with results has no prompt. With a `lane` it is for that one only. */
export type Message = { prompt: string; images?: string[]; results?: ToolResult[]; lane?: number }
/** `lostImages` counts the images that were not stored. */
export type Turn = Message & { id: string; answers: Answer[]; lostImages?: number }
export type Conversation = { id: string; updatedAt: number; turns: Turn[]; models: string[]; system: string }

/** `lanes` has parameters of single lanes, which override those of all. */
export type ChatSetup = { models: string[]; system: string; parameters: ChatParameters; lanes?: ChatParameters[] }
export const MAX_LANES = 4
export type Progress = Partial<Omit<Answer, 'model' | 'parameters' | 'system'>>

const TITLE_CHARS = 60

export const emptyConversation = (id: string): Conversation => ({ id, updatedAt: 0, turns: [], models: [], system: '' })

/** The parameters of a lane. */
export const parametersOf = ({ parameters, lanes }: ChatSetup, lane: number): ChatParameters => ({
  ...parameters,
  ...cleanParameters(lanes?.[lane] ?? {}),
})

/** Whether a turn belongs to a lane. */
export const isOfLane = ({ lane: only }: Message, lane: number) => only === undefined || only === lane

const startedAnswer = (model: string, lane: number, setup: ChatSetup): Answer => ({
  model,
  state: 'streaming',
  text: '',
  system: setup.system,
  parameters: parametersOf(setup, lane),
})

/** Appends a turn with a streaming answer per model, and an empty one in lanes that it is not for. */
export function withPrompt(
  conversation: Conversation,
  turn: Omit<Turn, 'answers'>,
  setup: ChatSetup,
  now: number,
): Conversation {
  const answers = setup.models.map((model, lane): Answer => {
    const started = startedAnswer(model, lane, setup)
    return isOfLane(turn, lane) ? started : { ...started, state: 'done' }
  })
  return {
    ...conversation,
    updatedAt: now,
    models: setup.models,
    system: setup.system,
    turns: [...conversation.turns, { ...turn, answers }],
  }
}

/** Drops the last turn, before it is sent again. */
export const withoutLastTurn = (conversation: Conversation): Conversation => ({
  ...conversation,
  turns: conversation.turns.slice(0, -1),
})

/** Applies progress to a streaming answer. Late progress of an ended answer is ignored. */
export const withProgress = (conversation: Conversation, turnId: string, lane: number, progress: Progress) =>
  withAnswer(conversation, turnId, lane, (answer) =>
    answer.state === 'streaming' ? { ...answer, ...progress } : answer,
  )

/** Adds the usage of a stopped answer, which the gateway knows a moment later. */
export const withUsage = (
  conversation: Conversation,
  turnId: string,
  lane: number,
  usage: Pick<Answer, 'usage' | 'isEstimate'>,
) => withAnswer(conversation, turnId, lane, (answer) => (answer.usage ? answer : { ...answer, ...usage }))

function withAnswer(conversation: Conversation, turnId: string, lane: number, change: (answer: Answer) => Answer) {
  const turns = conversation.turns.map((turn) => {
    if (turn.id !== turnId) return turn
    return { ...turn, answers: turn.answers.map((answer, index) => (index === lane ? change(answer) : answer)) }
  })
  return { ...conversation, turns }
}

/** Marks streaming answers as stopped, because a stored conversation was left before they ended. */
export function withStreamsStopped(conversation: Conversation): Conversation {
  const stop = (answer: Answer): Answer => (answer.state === 'streaming' ? { ...answer, state: 'stopped' } : answer)
  return {
    ...conversation,
    turns: conversation.turns.map((turn) => ({ ...turn, answers: turn.answers.map(stop) })),
  }
}

export const isStreaming = (conversation: Conversation) =>
  conversation.turns.some((turn) => turn.answers.some((answer) => answer.state === 'streaming'))

/** The turn whose tool calls wait for their results in a lane. */
export function waitingTurn(turns: readonly Turn[], lane: number): Turn | undefined {
  const last = turns.findLast((turn) => isOfLane(turn, lane))
  const answer = last?.answers[lane]
  return answer?.calls && answer.state === 'done' ? last : undefined
}

export function titleOf(conversation: Conversation): string {
  const first = conversation.turns[0]?.prompt.trim().replace(/\s+/g, ' ') ?? ''
  if (!first) return 'New conversation'
  return first.length > TITLE_CHARS ? `${first.slice(0, TITLE_CHARS).trimEnd()}…` : first
}

/**
 * Messages of a lane: the system prompt, the history of the lane, and the last prompt. Calls of tools without results are left
 * out, because engines reject them.
 */
export function messagesFor(turns: readonly Turn[], lane: number, system: string): ChatMessage[] {
  const messages: ChatMessage[] = system.trim() ? [{ role: 'system', content: system }] : []
  const own = turns.filter((turn) => isOfLane(turn, lane))
  own.forEach((turn, index) => {
    messages.push(...messagesOf(turn))
    const next = own[index + 1]
    // A lane that was opened later continues the history of the first one.
    const answer = turn.answers[lane] ?? turn.answers[0]
    const calls = next?.results ? answer?.calls : undefined
    if (next && answer && (answer.text || calls)) messages.push(assistantMessage(answer.text, calls))
  })
  return messages
}

/** Sent for a message that only had images, because engines reject empty ones, and some two responses in a row. */
const LOST = '[image not kept]'

function messagesOf({ prompt, images = [], results }: Message): ChatMessage[] {
  if (results) return results.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }))
  if (images.length === 0) return [{ role: 'user', content: prompt || LOST }]
  const text: ContentPart[] = prompt ? [{ type: 'text', text: prompt }] : []
  return [
    { role: 'user', content: [...text, ...images.map((url) => ({ type: 'image_url', image_url: { url } }) as const)] },
  ]
}

const assistantMessage = (text: string, calls: ToolCall[] | undefined): ChatMessage =>
  calls ? { role: 'assistant', content: text || null, tool_calls: calls } : { role: 'assistant', content: text }

type CallPart = { index: number; id: string; name: string; arguments: string }

/** Adds a part of a streamed call: id and name come first, the arguments in pieces. */
export function withCallPart(calls: readonly ToolCall[], part: CallPart): ToolCall[] {
  const before = calls[part.index]
  const call: ToolCall = {
    id: before?.id || part.id,
    type: 'function',
    function: {
      name: before?.function.name || part.name,
      arguments: (before?.function.arguments ?? '') + part.arguments,
    },
  }
  return before ? calls.map((one, index) => (index === part.index ? call : one)) : [...calls, call]
}

/** Without images, which are too large to be stored. */
export const withoutImages = (conversation: Conversation): Conversation => ({
  ...conversation,
  turns: conversation.turns.map(({ images, ...turn }) => (images ? { ...turn, lostImages: images.length } : turn)),
})

/** The request body of an answer. */
export function requestFor(
  turns: readonly Turn[],
  lane: number,
  model: string,
  settings: Pick<ChatSetup, 'system' | 'parameters'>,
): ChatRequest {
  return {
    model,
    messages: messagesFor(turns, lane, settings.system),
    ...cleanParameters(settings.parameters),
    stream: true,
    stream_options: { include_usage: true },
  }
}

/** Removes unset parameters, so that the model's defaults apply. */
export function cleanParameters(parameters: ChatParameters): ChatParameters {
  const set = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(set)
}

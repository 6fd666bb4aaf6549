/**
 * A conversation as pure data and functions. It has one lane, or two for a comparison; a turn is a prompt and one answer
 * per lane. Conversations are stored in browsers, so their property names must stay.
 */

import type { ChatUsage } from '../../api/chat-stream'
import type { ChatMessage, ChatParameters, ChatRequest } from '../../api/inference'

export type AnswerState = 'streaming' | 'done' | 'stopped' | 'failed'
export type Answer = {
  model: string
  state: AnswerState
  text: string
  reasoning?: string
  finish?: string
  usage?: ChatUsage
  /** From the request to the first text or reasoning. */
  firstTokenMs?: number
  totalMs?: number
  failure?: { message: string; code?: string; requestId?: string }
  /** Settings of the request, so that its code can be shown later. */
  parameters: ChatParameters
  system: string
}
export type Turn = { id: string; prompt: string; answers: Answer[] }
export type Conversation = { id: string; updatedAt: number; turns: Turn[]; models: string[]; system: string }

export type ChatSetup = { models: string[]; system: string; parameters: ChatParameters }
export type Progress = Partial<Omit<Answer, 'model' | 'parameters' | 'system'>>

const TITLE_CHARS = 60

export const emptyConversation = (id: string): Conversation => ({ id, updatedAt: 0, turns: [], models: [], system: '' })

const startedAnswer = (model: string, { system, parameters }: ChatSetup): Answer => ({
  model,
  state: 'streaming',
  text: '',
  system,
  parameters,
})

/** Appends a turn with a streaming answer per model. */
export function withPrompt(
  conversation: Conversation,
  turn: { id: string; prompt: string },
  setup: ChatSetup,
  now: number,
): Conversation {
  const answers = setup.models.map((model) => startedAnswer(model, setup))
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
export function withProgress(conversation: Conversation, turnId: string, lane: number, progress: Progress) {
  const turns = conversation.turns.map((turn) => {
    if (turn.id !== turnId) return turn
    const answers = turn.answers.map((answer, index) =>
      index === lane && answer.state === 'streaming' ? { ...answer, ...progress } : answer,
    )
    return { ...turn, answers }
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

export function titleOf(conversation: Conversation): string {
  const first = conversation.turns[0]?.prompt.trim().replace(/\s+/g, ' ') ?? ''
  if (!first) return 'New conversation'
  return first.length > TITLE_CHARS ? `${first.slice(0, TITLE_CHARS).trimEnd()}…` : first
}

/** Messages of a lane: the system prompt, the history of the lane, and the last prompt. */
export function messagesFor(turns: readonly Turn[], lane: number, system: string): ChatMessage[] {
  const messages: ChatMessage[] = system.trim() ? [{ role: 'system', content: system }] : []
  turns.forEach((turn, index) => {
    messages.push({ role: 'user', content: turn.prompt })
    // A lane that was opened later continues the history of the first one.
    const answer = turn.answers[lane] ?? turn.answers[0]
    if (index < turns.length - 1 && answer?.text) messages.push({ role: 'assistant', content: answer.text })
  })
  return messages
}

/** The request body of an answer. */
export function requestFor(
  turns: readonly Turn[],
  lane: number,
  model: string,
  settings: Omit<ChatSetup, 'models'>,
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

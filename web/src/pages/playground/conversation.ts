/**
 * A conversation and what happens to it. It has one lane, or two to compare; a turn is what was asked and one answer per
 * lane. Everything here is plain functions: what is on the screen follows from the conversation.
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
  /** From the request to the first piece of text. */
  firstTokenMs?: number
  totalMs?: number
  failure?: { message: string; code?: string; requestId?: string }
  /** What it was asked with, so that its code is that of the very request. */
  parameters: ChatParameters
  system: string
}
export type Turn = { id: string; prompt: string; answers: Answer[] }
export type Conversation = { id: string; updatedAt: number; turns: Turn[]; models: string[]; system: string }

export type Setup = { models: string[]; system: string; parameters: ChatParameters }
export type Progress = Partial<Omit<Answer, 'model' | 'parameters' | 'system'>>

const TITLE_CHARS = 60

export const emptyConversation = (id: string): Conversation => ({ id, updatedAt: 0, turns: [], models: [], system: '' })

const startedAnswer = (model: string, { system, parameters }: Setup): Answer => ({
  model,
  state: 'streaming',
  text: '',
  system,
  parameters,
})

/** A new turn at the end, with an answer on its way for each model. */
export function withPrompt(
  conversation: Conversation,
  turn: { id: string; prompt: string },
  setup: Setup,
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

/** Without the last turn: to ask it again, or in other words. */
export const withoutLastTurn = (conversation: Conversation): Conversation => ({
  ...conversation,
  turns: conversation.turns.slice(0, -1),
})

/** What has come in for one answer. One that is over stays as it is, whatever comes late. */
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

/** Nothing streams in a conversation that was kept: the page was left before the answer ended. */
export function atRest(conversation: Conversation): Conversation {
  const rest = (answer: Answer): Answer => (answer.state === 'streaming' ? { ...answer, state: 'stopped' } : answer)
  return {
    ...conversation,
    turns: conversation.turns.map((turn) => ({ ...turn, answers: turn.answers.map(rest) })),
  }
}

export const isStreaming = (conversation: Conversation) =>
  conversation.turns.some((turn) => turn.answers.some((answer) => answer.state === 'streaming'))

export function titleOf(conversation: Conversation): string {
  const first = conversation.turns[0]?.prompt.trim().replace(/\s+/g, ' ') ?? ''
  if (!first) return 'New conversation'
  return first.length > TITLE_CHARS ? `${first.slice(0, TITLE_CHARS).trimEnd()}…` : first
}

/** What a lane is asked: the system prompt, what was said before in this lane, and the turn's prompt. */
export function messagesFor(turns: readonly Turn[], lane: number, system: string): ChatMessage[] {
  const messages: ChatMessage[] = system.trim() ? [{ role: 'system', content: system }] : []
  turns.forEach((turn, index) => {
    messages.push({ role: 'user', content: turn.prompt })
    // A lane that was opened later goes on from what the first one said.
    const answer = turn.answers[lane] ?? turn.answers[0]
    if (index < turns.length - 1 && answer?.text) messages.push({ role: 'assistant', content: answer.text })
  })
  return messages
}

/** The request of an answer, member by member as it is sent. */
export function requestFor(
  turns: readonly Turn[],
  lane: number,
  model: string,
  asked: Omit<Setup, 'models'>,
): ChatRequest {
  return {
    model,
    messages: messagesFor(turns, lane, asked.system),
    ...cleanParameters(asked.parameters),
    stream: true,
    stream_options: { include_usage: true },
  }
}

/** What is not set is not sent: the model's own defaults hold. */
export function cleanParameters(parameters: ChatParameters): ChatParameters {
  const set = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(set)
}

/** Conversations stay in this browser, for this user and workspace, and within a bound: the oldest give way. */

import { atRest, type Conversation } from './conversation'

export const MAX_CONVERSATIONS = 30
export const MAX_CHARS = 1_000_000

type Shelf = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export const shelfKey = (userId: string, workspaceId: string) => `forebay-conversations:${userId}:${workspaceId}`

/** Newest first, as many as fit. */
export function withinBounds(conversations: readonly Conversation[]): Conversation[] {
  const newest = [...conversations].sort((left, right) => right.updatedAt - left.updatedAt).slice(0, MAX_CONVERSATIONS)
  const kept: Conversation[] = []
  let chars = 0
  for (const conversation of newest) {
    chars += JSON.stringify(conversation).length
    if (chars > MAX_CHARS) break
    kept.push(conversation)
  }
  return kept
}

/** What was kept; what cannot be read is taken for nothing. */
export function readKept(shelf: Shelf, key: string): Conversation[] {
  try {
    const kept: unknown = JSON.parse(shelf.getItem(key) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isConversation).map(atRest) : []
  } catch {
    return []
  }
}

/** Keeps a conversation beside the others, which another tab may have changed meanwhile. */
export function keep(shelf: Shelf, key: string, conversation: Conversation) {
  const others = readKept(shelf, key).filter((one) => one.id !== conversation.id)
  write(shelf, key, conversation.turns.length ? [conversation, ...others] : others)
}

export function forget(shelf: Shelf, key: string, id: string) {
  write(
    shelf,
    key,
    readKept(shelf, key).filter((one) => one.id !== id),
  )
}

function write(shelf: Shelf, key: string, conversations: Conversation[]) {
  try {
    shelf.setItem(key, JSON.stringify(withinBounds(conversations)))
  } catch {
    // The browser has no room left, or allows none: the conversation goes on, and is not kept.
  }
}

function isConversation(value: unknown): value is Conversation {
  const { id, updatedAt, turns, models, system } = (value ?? {}) as Partial<Conversation>
  return (
    typeof id === 'string' &&
    typeof updatedAt === 'number' &&
    typeof system === 'string' &&
    Array.isArray(models) &&
    Array.isArray(turns) &&
    turns.every(
      (turn) => typeof turn?.prompt === 'string' && Array.isArray(turn.answers) && turn.answers.every(isAnswer),
    )
  )
}

const isAnswer = (answer: unknown) => typeof (answer as { text?: unknown } | null)?.text === 'string'

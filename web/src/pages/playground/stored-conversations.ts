/** Stores conversations in this browser per user and workspace. The oldest are dropped when the bounds are exceeded. */

import { type Conversation, withoutImages, withStreamsStopped } from './conversation'

export const MAX_CONVERSATIONS = 30
export const MAX_CHARS = 1_000_000

type ConversationStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export const storageKey = (userId: string, workspaceId: string) => `forebay-conversations:${userId}:${workspaceId}`

/** The newest conversations that fit within the bounds. */
export function withinBounds(conversations: readonly Conversation[]): Conversation[] {
  const newest = [...conversations].sort((left, right) => right.updatedAt - left.updatedAt).slice(0, MAX_CONVERSATIONS)
  const stored: Conversation[] = []
  let chars = 0
  for (const conversation of newest) {
    chars += JSON.stringify(conversation).length
    if (chars > MAX_CHARS) break
    stored.push(conversation)
  }
  return stored
}

/** Loads stored conversations, ignoring malformed ones. */
export function loadConversations(storage: ConversationStorage, key: string): Conversation[] {
  try {
    const stored: unknown = JSON.parse(storage.getItem(key) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isConversation).map(withStreamsStopped) : []
  } catch {
    return []
  }
}

/** Stores a conversation with the others, which are re-read because another tab may have changed them. */
export function saveConversation(storage: ConversationStorage, key: string, conversation: Conversation) {
  const others = loadConversations(storage, key).filter((one) => one.id !== conversation.id)
  write(storage, key, conversation.turns.length ? [withoutImages(conversation), ...others] : others)
}

export function deleteConversation(storage: ConversationStorage, key: string, id: string) {
  write(
    storage,
    key,
    loadConversations(storage, key).filter((one) => one.id !== id),
  )
}

function write(storage: ConversationStorage, key: string, conversations: Conversation[]) {
  try {
    storage.setItem(key, JSON.stringify(withinBounds(conversations)))
  } catch {
    // The storage is full or disabled: the conversation continues without being stored.
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

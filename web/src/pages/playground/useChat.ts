import { useCallback, useEffect, useRef, useState } from 'react'
import {
  type Conversation,
  emptyConversation,
  isStreaming,
  requestFor,
  type Setup,
  withoutLastTurn,
  withProgress,
  withPrompt,
} from './conversation'
import { keep, readKept } from './kept'
import { newId } from './new-id'
import { runAnswer } from './run-answer'

/** The conversation on the page. `wanted` is the one that the address names; `onNamed` tells the address of a new one. */
export function useChat(shelfKey: string, wanted: string, onNamed: (id: string) => void) {
  const [conversation, show] = useState(() => find(shelfKey, wanted))
  const now = useRef(conversation)
  const running = useRef<AbortController>(undefined)

  const change = useCallback((next: (before: Conversation) => Conversation) => {
    now.current = next(now.current)
    show(now.current)
  }, [])
  const stop = useCallback(() => running.current?.abort(), [])

  // The address names another one, or none: "new", or a link of the navigation.
  useEffect(() => {
    if (wanted === now.current.id || (!wanted && now.current.turns.length === 0)) return
    running.current?.abort()
    change(() => find(shelfKey, wanted))
  }, [wanted, shelfKey, change])

  useEffect(() => {
    if (!isStreaming(conversation)) keep(localStorage, shelfKey, conversation)
  }, [conversation, shelfKey])

  // Whoever leaves the page stops the answer; what has come so far is kept.
  useEffect(
    () => () => {
      if (!isStreaming(now.current)) return
      running.current?.abort()
      keep(localStorage, shelfKey, now.current)
    },
    [shelfKey],
  )

  const ask = useCallback(
    (prompt: string, setup: Setup) => {
      const controller = new AbortController()
      running.current = controller
      const turn = { id: newId(), prompt }
      change((before) => withPrompt(before, turn, setup, Date.now()))
      onNamed(now.current.id)
      setup.models.forEach((model, lane) => {
        const request = requestFor(now.current.turns, lane, model, setup)
        void runAnswer(request, controller.signal, (progress) =>
          change((before) => withProgress(before, turn.id, lane, progress)),
        )
      })
    },
    [change, onNamed],
  )

  /** Asks the last turn again, in other words if there are any. */
  const askAgain = useCallback(
    (setup: Setup, prompt = now.current.turns.at(-1)?.prompt) => {
      if (prompt === undefined) return
      change(withoutLastTurn)
      ask(prompt, setup)
    },
    [ask, change],
  )

  return { conversation, ask, askAgain, stop }
}

const find = (shelfKey: string, id: string) =>
  (id && readKept(localStorage, shelfKey).find((one) => one.id === id)) || emptyConversation(newId())

import { useCallback, useEffect, useRef, useState } from 'react'
import {
  type ChatSetup,
  type Conversation,
  emptyConversation,
  isStreaming,
  requestFor,
  withoutLastTurn,
  withProgress,
  withPrompt,
} from './conversation'
import { newId } from './new-id'
import { loadConversations, saveConversation } from './stored-conversations'
import { streamResponse } from './stream-response'

/** The current conversation. `requestedId` comes from the URL; `onStarted` receives the id of a new one. */
export function useChat(storageKey: string, requestedId: string, onStarted: (id: string) => void) {
  const [conversation, setConversation] = useState(() => find(storageKey, requestedId))
  const latest = useRef(conversation)
  const running = useRef<AbortController>(undefined)

  const change = useCallback((next: (before: Conversation) => Conversation) => {
    latest.current = next(latest.current)
    setConversation(latest.current)
  }, [])
  const stop = useCallback(() => running.current?.abort(), [])

  // The URL names another conversation, or none after "New chat" or a navigation link.
  useEffect(() => {
    if (requestedId === latest.current.id || (!requestedId && latest.current.turns.length === 0)) return
    running.current?.abort()
    change(() => find(storageKey, requestedId))
  }, [requestedId, storageKey, change])

  useEffect(() => {
    if (!isStreaming(conversation)) saveConversation(localStorage, storageKey, conversation)
  }, [conversation, storageKey])

  // Leaving the page stops the answer and stores the text received so far.
  useEffect(
    () => () => {
      if (!isStreaming(latest.current)) return
      running.current?.abort()
      saveConversation(localStorage, storageKey, latest.current)
    },
    [storageKey],
  )

  const send = useCallback(
    (prompt: string, setup: ChatSetup) => {
      const controller = new AbortController()
      running.current = controller
      const turn = { id: newId(), prompt }
      change((before) => withPrompt(before, turn, setup, Date.now()))
      onStarted(latest.current.id)
      setup.models.forEach((model, lane) => {
        const request = requestFor(latest.current.turns, lane, model, setup)
        void streamResponse(request, controller.signal, (progress) =>
          change((before) => withProgress(before, turn.id, lane, progress)),
        )
      })
    },
    [change, onStarted],
  )

  /** Sends the last turn again, with a new prompt if given. */
  const resend = useCallback(
    (setup: ChatSetup, prompt = latest.current.turns.at(-1)?.prompt) => {
      if (prompt === undefined) return
      change(withoutLastTurn)
      send(prompt, setup)
    },
    [send, change],
  )

  return { conversation, send, resend, stop }
}

const find = (storageKey: string, id: string) =>
  (id && loadConversations(localStorage, storageKey).find((one) => one.id === id)) || emptyConversation(newId())

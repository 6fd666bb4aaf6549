import { useCallback, useEffect, useRef, useState } from 'react'
import { newId } from '../../ui/new-id'
import {
  type ChatSetup,
  type Conversation,
  emptyConversation,
  isOfLane,
  isStreaming,
  type Message,
  parametersOf,
  requestFor,
  withoutLastTurn,
  withProgress,
  withPrompt,
  withUsage,
} from './conversation'
import { usageOfStopped } from './stopped-usage'
import { loadConversations, saveConversation } from './stored-conversations'
import { streamResponse } from './stream-response'

/** The current conversation. `requestedId` comes from the URL; `onStarted` receives the id of a new one. */
export function useChat(workspaceId: string, storageKey: string, requestedId: string, onStarted: (id: string) => void) {
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
    (message: Message, setup: ChatSetup) => {
      const controller = new AbortController()
      running.current = controller
      const turn = { ...message, id: newId() }
      change((before) => withPrompt(before, turn, setup, Date.now()))
      onStarted(latest.current.id)
      setup.models.forEach((model, lane) => {
        if (!isOfLane(turn, lane)) return
        const settings = { system: setup.system, parameters: parametersOf(setup, lane) }
        const request = requestFor(latest.current.turns, lane, model, settings)
        void streamResponse(request, controller.signal, (progress) => {
          change((before) => withProgress(before, turn.id, lane, progress))
          if (progress.state !== 'stopped' || !progress.requestId) return
          void usageOfStopped(workspaceId, progress.requestId).then((usage) => {
            if (usage) change((before) => withUsage(before, turn.id, lane, usage))
          })
        })
      })
    },
    [change, onStarted, workspaceId],
  )

  /** Sends the last turn again, with a new prompt if given. */
  const resend = useCallback(
    (setup: ChatSetup, edited?: string) => {
      const last = latest.current.turns.at(-1)
      if (!last) return
      const { prompt, images, results, lane } = last
      change(withoutLastTurn)
      send({ prompt: edited ?? prompt, images, results, lane }, setup)
    },
    [send, change],
  )

  return { conversation, send, resend, stop }
}

const find = (storageKey: string, id: string) =>
  (id && loadConversations(localStorage, storageKey).find((one) => one.id === id)) || emptyConversation(newId())

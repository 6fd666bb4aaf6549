/** Lets one answer come in and tells how far it is. It knows no React: the stream and the clock are given to it. */

import { asFailure } from '../../api/errors'
import { type ChatRequest, streamChat } from '../../api/inference'
import type { Progress } from './conversation'

/** Text is shown in pieces of at least this long: a fast model would otherwise draw the page for every token. */
const SHOW_EVERY_MS = 50

type World = { stream: typeof streamChat; now: () => number }
const browser: World = { stream: streamChat, now: () => performance.now() }

export async function runAnswer(
  request: ChatRequest,
  signal: AbortSignal,
  tell: (progress: Progress) => void,
  { stream, now }: World = browser,
): Promise<void> {
  const startedAt = now()
  const come: Progress = { text: '' }
  let shownAt = Number.NEGATIVE_INFINITY
  const sofar = (): Progress => ({ ...come, totalMs: now() - startedAt })
  try {
    for await (const event of stream(request, signal)) {
      if (event.kind === 'text') come.text += event.text
      if (event.kind === 'reasoning') come.reasoning = (come.reasoning ?? '') + event.text
      if (event.kind === 'finish') come.finish = event.reason
      if (event.kind === 'usage') come.usage = event.usage
      if (event.kind === 'text' || event.kind === 'reasoning') come.firstTokenMs ??= now() - startedAt
      if (now() - shownAt < SHOW_EVERY_MS) continue
      shownAt = now()
      tell(sofar())
    }
    tell({ ...sofar(), state: 'done' })
  } catch (thrown) {
    if (signal.aborted) return tell({ ...sofar(), state: 'stopped' })
    const { message, code, requestId } = asFailure(thrown)
    tell({ ...sofar(), state: 'failed', failure: { message, code, requestId } })
  }
}

/** Streams one response and reports its progress. The stream and the clock are parameters, for tests. */

import { toApiError } from '../../api/errors'
import { type ChatRequest, streamChat } from '../../api/inference'
import { type Progress, withCallPart } from './conversation'

/** Minimum interval between updates, so that a fast model does not render the page for every token. */
const UPDATE_INTERVAL_MS = 50

type Environment = { stream: typeof streamChat; now: () => number }
const browser: Environment = { stream: streamChat, now: () => performance.now() }

export async function streamResponse(
  request: ChatRequest,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
  { stream, now }: Environment = browser,
): Promise<void> {
  const startedAt = now()
  const received: Progress = { text: '' }
  let updatedAt = Number.NEGATIVE_INFINITY
  const progress = (): Progress => ({ ...received, totalMs: now() - startedAt })
  try {
    for await (const event of stream(request, signal)) {
      if (event.kind === 'accepted') received.requestId = event.requestId
      if (event.kind === 'text') received.text += event.text
      if (event.kind === 'reasoning') received.reasoning = (received.reasoning ?? '') + event.text
      if (event.kind === 'call') received.calls = withCallPart(received.calls ?? [], event)
      if (event.kind === 'finish') received.finish = event.reason
      if (event.kind === 'usage') received.usage = event.usage
      if (event.kind === 'text' || event.kind === 'reasoning' || event.kind === 'call')
        received.firstTokenMs ??= now() - startedAt
      if (now() - updatedAt < UPDATE_INTERVAL_MS) continue
      updatedAt = now()
      onProgress(progress())
    }
    onProgress({ ...progress(), state: 'done' })
  } catch (thrown) {
    if (signal.aborted) return onProgress({ ...progress(), state: 'stopped' })
    const { message, code, requestId } = toApiError(thrown)
    onProgress({ ...progress(), state: 'failed', failure: { message, code, requestId } })
  }
}

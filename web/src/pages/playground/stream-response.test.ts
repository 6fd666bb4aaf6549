import { describe, expect, it } from 'vitest'
import type { ChatEvent } from '../../api/chat-stream'
import { ApiError } from '../../api/errors'
import type { ChatRequest } from '../../api/inference'
import type { Progress } from './conversation'
import { streamResponse } from './stream-response'

const request = { model: 'm', messages: [] } as unknown as ChatRequest

/** Runs with a clock that advances 100 ms per event. */
async function run(events: (ChatEvent | Error)[], controller = new AbortController()) {
  let ms = 0
  const updates: Progress[] = []
  async function* stream() {
    for (const event of events) {
      ms += 100
      if (event instanceof Error) throw event
      yield event
    }
  }
  await streamResponse(request, controller.signal, (progress) => updates.push(progress), { stream, now: () => ms })
  return updates
}

describe('a streamed answer', () => {
  it('reports progress, usage and timings', async () => {
    const usage = { promptTokens: 2, cachedTokens: 0, completionTokens: 2 }
    const updates = await run([
      { kind: 'text', text: 'Hel' },
      { kind: 'text', text: 'lo' },
      { kind: 'finish', reason: 'stop' },
      { kind: 'usage', usage },
    ])
    expect(updates.map((progress) => progress.text)).toEqual(['Hel', 'Hello', 'Hello', 'Hello', 'Hello'])
    expect(updates.at(-1)).toEqual({
      text: 'Hello',
      state: 'done',
      finish: 'stop',
      usage,
      firstTokenMs: 100,
      totalMs: 400,
    })
  })

  it('keeps text received before a failure, and reports the error', async () => {
    const error = new ApiError('api', { message: 'gone', code: 'upstream_error' })
    const updates = await run([{ kind: 'text', text: 'half' }, error])
    expect(updates.at(-1)).toMatchObject({
      text: 'half',
      state: 'failed',
      failure: { message: 'gone', code: 'upstream_error' },
    })
  })

  it('is stopped, not failed, when aborted', async () => {
    const controller = new AbortController()
    controller.abort()
    const updates = await run([{ kind: 'text', text: 'half' }, new DOMException('stopped', 'AbortError')], controller)
    expect(updates.at(-1)).toMatchObject({ text: 'half', state: 'stopped' })
    expect(updates.at(-1)?.failure).toBeUndefined()
  })
})

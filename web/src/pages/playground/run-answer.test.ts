import { describe, expect, it } from 'vitest'
import type { ChatEvent } from '../../api/chat-stream'
import { Failure } from '../../api/errors'
import type { ChatRequest } from '../../api/inference'
import type { Progress } from './conversation'
import { runAnswer } from './run-answer'

const request = { model: 'm', messages: [] } as unknown as ChatRequest

/** A clock that moves 100 ms with each event. */
async function run(events: (ChatEvent | Error)[], controller = new AbortController()) {
  let ms = 0
  const told: Progress[] = []
  async function* stream() {
    for (const event of events) {
      ms += 100
      if (event instanceof Error) throw event
      yield event
    }
  }
  await runAnswer(request, controller.signal, (progress) => told.push(progress), { stream, now: () => ms })
  return told
}

describe('an answer', () => {
  it('tells how far it is, and what it took', async () => {
    const usage = { promptTokens: 2, cachedTokens: 0, completionTokens: 2 }
    const told = await run([
      { kind: 'text', text: 'Hel' },
      { kind: 'text', text: 'lo' },
      { kind: 'finish', reason: 'stop' },
      { kind: 'usage', usage },
    ])
    expect(told.map((progress) => progress.text)).toEqual(['Hel', 'Hello', 'Hello', 'Hello', 'Hello'])
    expect(told.at(-1)).toEqual({
      text: 'Hello',
      state: 'done',
      finish: 'stop',
      usage,
      firstTokenMs: 100,
      totalMs: 400,
    })
  })

  it('keeps what came before it failed, and says why', async () => {
    const failure = new Failure('refusal', { message: 'gone', code: 'upstream_error' })
    const told = await run([{ kind: 'text', text: 'half' }, failure])
    expect(told.at(-1)).toMatchObject({
      text: 'half',
      state: 'failed',
      failure: { message: 'gone', code: 'upstream_error' },
    })
  })

  it('is stopped, not failed, when it was told to', async () => {
    const controller = new AbortController()
    controller.abort()
    const told = await run([{ kind: 'text', text: 'half' }, new DOMException('stopped', 'AbortError')], controller)
    expect(told.at(-1)).toMatchObject({ text: 'half', state: 'stopped' })
    expect(told.at(-1)?.failure).toBeUndefined()
  })
})

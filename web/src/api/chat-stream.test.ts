import { describe, expect, it } from 'vitest'
import { type ChatEvent, MAX_EVENT_CHARS, readChatStream } from './chat-stream'
import { ApiError } from './errors'

const bytes = (text: string) => new TextEncoder().encode(text)
const frame = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const text = (content: string) => frame({ choices: [{ index: 0, delta: { content } }] })
const DONE = 'data: [DONE]\n\n'

function streamOf(...chunks: (string | Uint8Array)[]) {
  let cancelled = false
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? bytes(chunk) : chunk)
      controller.close()
    },
    cancel() {
      cancelled = true
    },
  })
  return { stream, wasCancelled: () => cancelled }
}

async function read(...chunks: (string | Uint8Array)[]) {
  const events: ChatEvent[] = []
  for await (const event of readChatStream(streamOf(...chunks).stream, 'req_1')) events.push(event)
  return events
}

const textOf = (events: ChatEvent[]) => events.map((event) => (event.kind === 'text' ? event.text : '')).join('')

describe('reading a streamed response', () => {
  it('reads text, finish reason and usage', async () => {
    const usage = { prompt_tokens: 12, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 8 } }
    const events = await read(
      frame({ choices: [{ delta: { role: 'assistant', content: '' } }] }),
      text('Hel'),
      text('lo'),
      frame({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
      frame({ choices: [], usage }),
      DONE,
    )
    expect(events).toEqual([
      { kind: 'text', text: 'Hel' },
      { kind: 'text', text: 'lo' },
      { kind: 'finish', reason: 'stop' },
      { kind: 'usage', usage: { promptTokens: 12, cachedTokens: 8, completionTokens: 3 } },
    ])
  })

  it('handles chunks cut anywhere, even inside a character', async () => {
    const whole = bytes(`: ping\n\n${text('Grüße 👋')}${text('!')}${DONE}`)
    for (let size = 1; size <= 7; size += 1) {
      const chunks: Uint8Array[] = []
      for (let at = 0; at < whole.length; at += size) chunks.push(whole.slice(at, at + size))
      expect(textOf(await read(...chunks)), `chunks of ${size}`).toBe('Grüße 👋!')
    }
  })

  it('reads several events from one chunk, and CRLF line endings', async () => {
    expect(textOf(await read((text('a') + text('b') + DONE).replaceAll('\n', '\r\n')))).toBe('ab')
  })

  it('separates reasoning from the response text', async () => {
    const events = await read(frame({ choices: [{ delta: { reasoning_content: 'hm' } }] }), text('yes'), DONE)
    expect(events).toEqual([
      { kind: 'reasoning', text: 'hm' },
      { kind: 'text', text: 'yes' },
    ])
  })

  it('throws an error event with its message, code and request id', async () => {
    const failing = read(text('a'), frame({ error: { message: 'The model is gone', code: 'upstream_error' } }), DONE)
    await expect(failing).rejects.toMatchObject({
      message: 'The model is gone',
      code: 'upstream_error',
      kind: 'api',
      requestId: 'req_1',
    })
  })

  it('throws when the stream ends without [DONE]', async () => {
    const failing = read(text('half an ans'))
    await expect(failing).rejects.toBeInstanceOf(ApiError)
    await expect(read()).rejects.toMatchObject({ kind: 'transport' })
  })

  it('throws when an event is not a JSON object', async () => {
    await expect(read('data: {"choices":[\n\n', DONE)).rejects.toMatchObject({ kind: 'transport' })
    await expect(read('data: 7\n\n', DONE)).rejects.toMatchObject({ kind: 'transport' })
  })

  it('rejects an event that exceeds the size limit', async () => {
    const failing = read('data: ', 'x'.repeat(MAX_EVENT_CHARS), 'x', 'x')
    await expect(failing).rejects.toMatchObject({ message: expect.stringContaining('too long') })
  })

  it('yields the events received before a failure', async () => {
    const events: ChatEvent[] = []
    const reading = async () => {
      for await (const event of readChatStream(streamOf(text('first')).stream)) events.push(event)
    }
    await expect(reading()).rejects.toBeInstanceOf(ApiError)
    expect(textOf(events)).toBe('first')
  })

  it('cancels the stream when the consumer stops reading', async () => {
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes(text('x'))),
      cancel: () => {
        cancelled = true
      },
    })
    for await (const _ of readChatStream(endless)) break
    expect(cancelled).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import { type ChatEvent, MAX_EVENT_CHARS, readChatStream } from './chat-stream'
import { Failure } from './errors'

const bytes = (text: string) => new TextEncoder().encode(text)
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const text = (content: string) => event({ choices: [{ index: 0, delta: { content } }] })
const DONE = 'data: [DONE]\n\n'

function streamOf(...pieces: (string | Uint8Array)[]) {
  let cancelled = false
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === 'string' ? bytes(piece) : piece)
      controller.close()
    },
    cancel() {
      cancelled = true
    },
  })
  return { stream, wasCancelled: () => cancelled }
}

async function read(...pieces: (string | Uint8Array)[]) {
  const events: ChatEvent[] = []
  for await (const one of readChatStream(streamOf(...pieces).stream, 'req_1')) events.push(one)
  return events
}

const said = (events: ChatEvent[]) => events.map((one) => (one.kind === 'text' ? one.text : '')).join('')

describe('the reader of a streamed answer', () => {
  it('reads text, the end and the usage', async () => {
    const usage = { prompt_tokens: 12, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 8 } }
    const events = await read(
      event({ choices: [{ delta: { role: 'assistant', content: '' } }] }),
      text('Hel'),
      text('lo'),
      event({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
      event({ choices: [], usage }),
      DONE,
    )
    expect(events).toEqual([
      { kind: 'text', text: 'Hel' },
      { kind: 'text', text: 'lo' },
      { kind: 'finish', reason: 'stop' },
      { kind: 'usage', usage: { promptTokens: 12, cachedTokens: 8, completionTokens: 3 } },
    ])
  })

  it('does not care where the pieces are cut, not even inside a character', async () => {
    const whole = bytes(`: ping\n\n${text('Grüße 👋')}${text('!')}${DONE}`)
    for (let size = 1; size <= 7; size += 1) {
      const pieces: Uint8Array[] = []
      for (let at = 0; at < whole.length; at += size) pieces.push(whole.slice(at, at + size))
      expect(said(await read(...pieces)), `pieces of ${size}`).toBe('Grüße 👋!')
    }
  })

  it('reads several events of one piece, and lines that end in CR LF', async () => {
    expect(said(await read((text('a') + text('b') + DONE).replaceAll('\n', '\r\n')))).toBe('ab')
  })

  it('tells what a model thinks apart from what it says', async () => {
    const events = await read(event({ choices: [{ delta: { reasoning_content: 'hm' } }] }), text('yes'), DONE)
    expect(events).toEqual([
      { kind: 'reasoning', text: 'hm' },
      { kind: 'text', text: 'yes' },
    ])
  })

  it('throws an error event in the words of the API, with the request id', async () => {
    const failing = read(text('a'), event({ error: { message: 'The model is gone', code: 'upstream_error' } }), DONE)
    await expect(failing).rejects.toMatchObject({
      message: 'The model is gone',
      code: 'upstream_error',
      kind: 'refusal',
      requestId: 'req_1',
    })
  })

  it('throws when the stream ends without [DONE]', async () => {
    const failing = read(text('half an ans'))
    await expect(failing).rejects.toBeInstanceOf(Failure)
    await expect(read()).rejects.toMatchObject({ kind: 'transport' })
  })

  it('throws when an event is no JSON object', async () => {
    await expect(read('data: {"choices":[\n\n', DONE)).rejects.toMatchObject({ kind: 'transport' })
    await expect(read('data: 7\n\n', DONE)).rejects.toMatchObject({ kind: 'transport' })
  })

  it('gives up an event that does not end', async () => {
    const failing = read('data: ', 'x'.repeat(MAX_EVENT_CHARS), 'x', 'x')
    await expect(failing).rejects.toMatchObject({ message: expect.stringContaining('too long') })
  })

  it('hands out what came before a failure', async () => {
    const events: ChatEvent[] = []
    const reading = async () => {
      for await (const one of readChatStream(streamOf(text('first')).stream)) events.push(one)
    }
    await expect(reading()).rejects.toBeInstanceOf(Failure)
    expect(said(events)).toBe('first')
  })

  it('cancels the stream when nobody reads on', async () => {
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

// Tests the openai package for Node against a running forebay. Started by scripts/test-clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI, { toFile } from 'openai'

const { FOREBAY_BASE_URL: baseURL, FOREBAY_API_KEY: apiKey, FAKE_ENGINE_URL: engineURL } = process.env
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 30_000 })

const CHAT = 'acme/tiny-chat'
const EMBED = 'acme/tiny-embed'
const UNSTEADY = 'acme/unsteady'
const ECHO = 'acme/echo'
const TEXT = 'Hello Hello Hello '
const messages = [{ role: 'user', content: 'Say hello' }]
const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { place: { type: 'string' } } } },
}

const engineState = async () => (await fetch(`${engineURL}/state`)).json()

async function scriptNextCall(script) {
  const response = await fetch(`${engineURL}/script/next`, { method: 'POST', body: JSON.stringify(script) })
  assert.equal(response.status, 200)
}

async function waitForOneMoreCancelled(before) {
  const deadline = Date.now() + 5_000
  while ((await engineState()).cancelled <= before) {
    assert.ok(Date.now() < deadline, 'the engine call was not cancelled within 5 s')
    await sleep(20)
  }
}

async function collect(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

async function callEcho(extra) {
  const response = await client.chat.completions.create({ model: ECHO, messages, ...extra })
  return JSON.parse(response.choices[0].message.content)
}

test('a unary response echoes the model and has a request id', async () => {
  const response = await client.chat.completions.create({ model: CHAT, messages })
  assert.equal(response.choices[0].message.content, TEXT)
  assert.equal(response.model, CHAT)
  assert.match(response._request_id, /^req_/)
})

test('a stream has the complete text and no usage by default', async () => {
  const chunks = await collect(await client.chat.completions.create({ model: CHAT, messages, stream: true }))
  assert.equal(chunks.map((chunk) => chunk.choices[0].delta.content ?? '').join(''), TEXT)
  assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop')
  assert.ok(chunks.every((chunk) => chunk.model === CHAT && !chunk.usage))
})

test('usage is last if requested', async () => {
  const stream_options = { include_usage: true }
  const stream = await client.chat.completions.create({ model: CHAT, messages, stream: true, stream_options })
  const chunks = await collect(stream)
  assert.deepEqual(chunks.at(-1).choices, [])
  assert.equal(chunks.at(-1).usage.completion_tokens, 3)
  assert.ok(chunks.slice(0, -1).every((chunk) => !chunk.usage))
})

test('the stream helper gets a complete response', async () => {
  const runner = client.chat.completions.stream({ model: CHAT, messages })
  assert.equal(await runner.finalContent(), TEXT)
  assert.equal((await runner.finalChatCompletion()).choices[0].message.role, 'assistant')
})

test('the stream helper gets a role even if the engine sends none', async () => {
  const runner = client.chat.completions.stream({ model: CHAT, messages, fake: { no_role: true } })
  assert.equal((await runner.finalChatCompletion()).choices[0].message.role, 'assistant')
})

test('tools reach the engine and tool calls are streamed back', async () => {
  const seen = await callEcho({ tools: [weather], tool_choice: 'auto' })
  assert.deepEqual(seen.body.tools, [weather])

  const chunk = (delta, finish_reason = null) =>
    JSON.stringify({
      id: 'x', object: 'chat.completion.chunk', created: 1, model: 'x', choices: [{ index: 0, delta, finish_reason }],
    })
  const raw_events = [
    chunk({ role: 'assistant', tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"place":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }),
    chunk({}, 'tool_calls'),
  ]
  const runner = client.chat.completions.stream({ model: CHAT, messages, tools: [weather], fake: { raw_events } })
  const choice = (await runner.finalChatCompletion()).choices[0]
  assert.equal(choice.finish_reason, 'tool_calls')
  assert.equal(choice.message.tool_calls[0].function.arguments, '{"place":"Oslo"}')
})

test('unknown members are passed through, but not the key', async () => {
  const extra = { top_k: 5, chat_template_kwargs: { thinking: false, deep: [1, { a: null }] } }
  const seen = await callEcho(extra)
  assert.deepEqual({ top_k: seen.body.top_k, chat_template_kwargs: seen.body.chat_template_kwargs }, extra)
  assert.equal(seen.body.model, 'echo-upstream-name')
  assert.ok(!JSON.stringify(seen).includes(apiKey))
})

test('base64 and float embeddings have the same values', async () => {
  const input = ['one', 'two']
  const byDefault = await client.embeddings.create({ model: EMBED, input })
  const floats = await client.embeddings.create({ model: EMBED, input, encoding_format: 'float' })
  const ignored = await client.embeddings.create({ model: EMBED, input, fake: { embed_as: 'float' } })
  const vectors = (response) => response.data.map((item) => Array.from(item.embedding))
  assert.equal(vectors(byDefault)[0].length, 8)
  assert.deepEqual(vectors(byDefault), vectors(floats))
  assert.deepEqual(vectors(ignored), vectors(floats))
})

test('models are listed and retrieved by id with a slash', async () => {
  const ids = (await collect(await client.models.list())).map((model) => model.id)
  const others = ['acme/agent', 'acme/rerank', 'acme/rerank-tei', 'claude-forebay', 'forebay-agent']
  assert.deepEqual(ids.sort(), [ECHO, CHAT, EMBED, UNSTEADY, ...others].sort())
  assert.equal((await client.models.retrieve(CHAT)).id, CHAT)
})

test('a batch runs the lines of an uploaded file', async () => {
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model: CHAT, messages } }
  const content = `${JSON.stringify(line)}\n`
  const file = await client.files.create({
    file: await toFile(Buffer.from(content), 'lines.jsonl'),
    purpose: 'batch',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  })
  assert.deepEqual([file.filename, file.bytes, file.expires_at - file.created_at], ['lines.jsonl', content.length, 3600])
  let batch = await client.batches.create({ input_file_id: file.id, endpoint: line.url, completion_window: '24h' })
  const deadline = Date.now() + 30_000
  while (batch.status !== 'completed') {
    assert.ok(Date.now() < deadline, `the batch is ${batch.status} after 30 s`)
    await sleep(20)
    batch = await client.batches.retrieve(batch.id)
  }
  const output = JSON.parse(await (await client.files.content(batch.output_file_id)).text())
  assert.equal(output.response.body.choices[0].message.content, TEXT)
  const listed = []
  for await (const { id } of client.files.list({ limit: 1 })) listed.push(id)
  assert.deepEqual(listed, [batch.output_file_id, file.id])
  assert.equal((await client.files.delete(file.id)).deleted, true)
})

const errorCases = [
  ['400 for a missing parameter', OpenAI.BadRequestError, 400, 'invalid_request_error', 'missing_parameter', 'messages',
    () => client.post('/chat/completions', { body: { model: CHAT } })],
  ['401 for an unknown key', OpenAI.AuthenticationError, 401, 'authentication_error', 'invalid_api_key', '',
    () => client.withOptions({ apiKey: `sk-abcdefghijkl-${'x'.repeat(40)}` }).models.list()],
  ['404 for an unknown model', OpenAI.NotFoundError, 404, 'not_found_error', 'model_not_found', 'model',
    () => client.chat.completions.create({ model: 'acme/nothing', messages })],
  ['422 for a value out of range', OpenAI.UnprocessableEntityError, 422, 'invalid_request_error', 'invalid_value', 'temperature',
    () => client.chat.completions.create({ model: CHAT, messages, temperature: 3 })],
]
for (const [name, errorClass, status, type, code, param, call] of errorCases) {
  test(name, async () => {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof errorClass, String(error))
      assert.deepEqual([error.status, error.type, error.code, error.param], [status, type, code, param])
      assert.match(error.requestID, /^req_/)
      return true
    })
  })
}

test('an error before the first byte of a stream is an HTTP error', async () => {
  const call = () => client.chat.completions.create({ model: CHAT, messages: [], stream: true })
  await assert.rejects(call, (error) => error.status === 422 && error.param === 'messages')
})

test('a stream that is cut off throws with its code', async () => {
  const stream = await client.chat.completions.create({ model: CHAT, messages, stream: true, fake: { cut_after: 1 } })
  await assert.rejects(collect(stream), (error) => error.code === 'bad_gateway')
})

test('a retry waits for the Retry-After of a 503', async () => {
  const { served } = await engineState()
  await scriptNextCall({ status: 503, retry_after: '2' })
  const started = Date.now()
  const response = await client.withOptions({ maxRetries: 2 }).chat.completions.create({ model: UNSTEADY, messages })
  assert.equal(response.choices[0].message.content, TEXT)
  assert.ok(Date.now() - started >= 1_900, `${Date.now() - started} ms`)
  assert.equal((await engineState()).served - served, 2)
})

test('aborting a stream cancels the engine call', async () => {
  const { cancelled } = await engineState()
  const fake = { chunks: 10_000, chunk_delay_ms: 20 }
  const stream = await client.chat.completions.create({ model: CHAT, messages, stream: true, fake })
  for await (const _ of stream) break
  await waitForOneMoreCancelled(cancelled)
})

test('aborting a unary call cancels the engine call', async () => {
  const { cancelled } = await engineState()
  const abort = new AbortController()
  const call = client.chat.completions.create({ model: CHAT, messages, fake: { delay_ms: 60_000 } }, { signal: abort.signal })
  setTimeout(() => abort.abort(), 200)
  await assert.rejects(call, OpenAI.APIUserAbortError)
  await waitForOneMoreCancelled(cancelled)
})

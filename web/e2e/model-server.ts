/** A small OpenAI-compatible server with two models, for adding it as an upstream. It requires a key. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const SERVER_KEY = 'upstream-key'
const MODELS = ['Acme/Echo-1', 'Acme/Echo-2']
const FEW = { prompt_tokens: 5, completion_tokens: 2 }

/** `hold` keeps chats from being responded to until the function that it returns is called. */
export type ModelServer = { url: string; hold: () => () => void; stop: () => Promise<void> }

/** `counted` is the usage of each call. */
export async function startModelServer(counted = FEW): Promise<ModelServer> {
  const usage = { ...counted, total_tokens: counted.prompt_tokens + counted.completion_tokens }
  let released: Promise<void> = Promise.resolve()
  const hold = () => {
    let release = () => {}
    released = new Promise((resolve) => {
      release = resolve
    })
    return release
  }
  const server = createServer((request, response) => void respond(request, response, usage, () => released))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const stop = () =>
    new Promise<void>((stopped) => {
      server.closeAllConnections()
      server.close(() => stopped())
    })
  return { url: `http://127.0.0.1:${port}/v1`, hold, stop }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  usage: object,
  released: () => Promise<void>,
) {
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const path = new URL(request.url ?? '/', 'http://server').pathname
  if (path === '/health' || path === '/v1/health') return send(200, {})
  if (request.headers.authorization !== `Bearer ${SERVER_KEY}`)
    return send(401, { error: { message: 'wrong key', type: 'authentication_error', code: null, param: null } })
  if (path === '/v1/models')
    return send(200, {
      object: 'list',
      data: MODELS.map((id) => ({ id, object: 'model', created: 0, owned_by: 'acme', max_model_len: 4096 })),
    })
  if (path !== '/v1/chat/completions') return send(404, { error: { message: 'no such route' } })
  await released()
  const { stream, model } = JSON.parse(Buffer.concat(chunks).toString())
  const common = { id: 'chatcmpl-1', created: 0, model }
  if (!stream) {
    const message = { role: 'assistant', content: 'Hello from the echo' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return send(200, { ...common, object: 'chat.completion', choices, usage })
  }
  const event = (body: object) => `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', ...body })}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(event({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello from the echo' } }] }))
  response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  return response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`)
}

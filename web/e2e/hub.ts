/**
 * A hub of models on this machine that behaves like the Hugging Face hub, with the starter weights as `acme/smol-GGUF`.
 * `POST /-/hold` lets downloads stop after some bytes until `POST /-/release`.
 */

import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'
const FILE = 'smol.Q4_1.gguf'
const REPOSITORY = 'acme/smol-GGUF'
const HOLD_AFTER = 8 << 20

export type Hub = { url: string; stop: () => Promise<void> }

export async function startHub(root: string): Promise<Hub> {
  const path = weightsIn(root)
  const [size, sha256] = [statSync(path).size, await hashOf(path)]
  let release: (() => void) | undefined
  let held: Promise<void> | undefined
  const control = (action: string) => {
    release?.()
    release = undefined
    held = action === 'hold' ? new Promise((done) => (release = done)) : undefined
  }
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://hub')
    if (url.pathname.startsWith('/-/')) {
      control(url.pathname.slice(3))
      return response.end()
    }
    if (url.pathname.startsWith('/storage/')) return void sendFile(path, size, request, response, held)
    return describeModel(url.pathname, size, sha256, response)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const stop = () =>
    new Promise<void>((stopped) => {
      server.closeAllConnections()
      server.close(() => stopped())
    })
  return { url: `http://127.0.0.1:${port}`, stop }
}

/** The chat weights of the quickstart configuration. */
function weightsIn(root: string): string {
  const path = join(root, 'data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf')
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`make models\``)
  return path
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

function describeModel(path: string, size: number, sha256: string, response: ServerResponse) {
  if (path.startsWith(`/api/models/${REPOSITORY}/revision/`)) {
    const siblings = [
      { rfilename: 'README.md', size: 10 },
      { rfilename: FILE, size, lfs: { sha256, size, pointerSize: 134 } },
    ]
    const gguf = { architecture: 'llama', context_length: 8192 }
    const tags = ['gguf', 'license:apache-2.0']
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify({ id: REPOSITORY, sha: COMMIT, tags, gguf, gated: false, siblings }))
  }
  if (path !== `/${REPOSITORY}/resolve/${COMMIT}/${FILE}`) return response.writeHead(404).end()
  return response
    .writeHead(302, {
      location: `/storage/${FILE}`,
      etag: `"${sha256}"`,
      'x-linked-etag': `"${sha256}"`,
      'x-linked-size': size,
      'x-repo-commit': COMMIT,
    })
    .end()
}

async function sendFile(
  path: string,
  size: number,
  request: IncomingMessage,
  response: ServerResponse,
  held: Promise<void> | undefined,
) {
  const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const range = { 'content-range': `bytes ${start}-${size - 1}/${size}` }
  response.writeHead(start > 0 ? 206 : 200, { 'content-length': size - start, ...(start > 0 ? range : {}) })
  const gone = new Promise<void>((closed) => response.once('close', closed))
  let sent = 0
  for await (const chunk of createReadStream(path, { start })) {
    if (response.destroyed) return
    if (held && sent >= HOLD_AFTER) await Promise.race([held, gone])
    sent += (chunk as Buffer).length
    if (!response.write(chunk)) await Promise.race([new Promise((drained) => response.once('drain', drained)), gone])
  }
  response.end()
}

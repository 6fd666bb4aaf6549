/** Starts real gateways and engines on free ports, with the program testbed, which ends them with this process. */

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TESTBED = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', 'debug', 'testbed')

/** The program itself, for commands beside a gateway that runs. */
export const PROGRAM = process.env.FOREBAY_BIN ?? join(dirname(TESTBED), 'forebay')

/** The starter weights. */
export const WEIGHTS = join(ROOT, 'data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf')
/** Small, because other engines run beside it. */
const ENGINE_OPTIONS = ['--ctx', '2048', '--kv-cache-tokens', '4096', '--parallel', '2', '--threads', '1']

/** Contents of `bootstrap.json`. */
export type Bootstrap = { email: string; password: string; apiKey: string; organizationId: string; workspaceId: string }
/** `kill` ends it without a shutdown, as a crash does. */
export type Forebay = Bootstrap & {
  url: string
  config: string
  dataDir: string
  stop: () => Promise<void>
  kill: () => Promise<void>
}
/** An engine, or a hub of models. */
export type Server = { url: string; stop: () => Promise<void> }

/**
 * `extra` is TOML appended to the quickstart configuration; without models no engine starts. Port 0 picks a free port. A
 * node `beside` another uses its store, and has no accounts of its own.
 */
type StartOptions = { extra?: string; port?: number; withModels?: boolean; store?: string; beside?: Forebay }

export async function startForebay(options: StartOptions = {}): Promise<Forebay> {
  const { extra = '', port = 0, withModels = true, store, beside } = options
  const whole = readFileSync(join(ROOT, 'config/quickstart.toml'), 'utf8')
  const models = withModels ? whole : (whole.split('[[models]]')[0] ?? '')
  const quickstart = store ? models.replace('url = "sqlite:forebay.db"', `url = "${store}"`) : models
  const tables = quickstart.replaceAll('"../data/', `"${ROOT}data/`) + extra
  // Keys of model servers are stored encrypted, which needs a content key.
  const environment = { FOREBAY_CONTENT_KEY: process.env.FOREBAY_CONTENT_KEY ?? randomBytes(32).toString('base64') }
  return { ...beside, ...(await start<Forebay>({ gateway: { tables, port, environment } })) }
}

/** Starts a forebay-engine with the starter weights, as a server of its own. */
export async function startEngine(modelName: string): Promise<Server> {
  const model = ['--model', WEIGHTS, '--model-name', modelName]
  const engine = await start<Server>({ forebayEngine: { arguments: [...model, ...ENGINE_OPTIONS] } })
  return { ...engine, url: `${engine.url}/v1` }
}

/** Starts a hub with the starter weights. `POST /-/hold` lets downloads stop on their way until `POST /-/release`. */
export const startHub = () => {
  const gguf = { architecture: 'llama', context_length: 8192 }
  const members = { tags: ['gguf', 'license:apache-2.0'], gguf }
  return start<Server>({ hub: { repository: 'acme/smol-GGUF', file: 'smol.Q4_1.gguf', path: WEIGHTS, members } })
}

/** Starts what the request names; it has a process of its own, because tests run in several. */
async function start<T>(request: object): Promise<T> {
  const child = spawn(TESTBED, { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = new Promise<void>((ended) => child.once('exit', () => ended()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (request: object) => {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    const { value = '{"error": "testbed has ended"}' } = await lines.next()
    return JSON.parse(value)
  }
  const stop = () => {
    child.stdin.end()
    return exited
  }
  const started = await ask(request)
  if (started.error) {
    await stop()
    throw new Error(started.error)
  }
  const kill = () => ask({ stop: { id: started.id, signal: 'KILL' } })
  return { ...started, stop, kill }
}

/** Starts a real forebay with the real engine on free ports, with its own data folder. */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const START_MS = 60_000
const STOP_MS = 20_000
const POLL_MS = 100

/** Contents of `bootstrap.json`. */
export type Bootstrap = { email: string; password: string; apiKey: string; organizationId: string; workspaceId: string }
/** `kill` ends it without a shutdown, as a crash does. */
export type Forebay = Bootstrap & { url: string; stop: () => Promise<void>; kill: () => Promise<void> }

/** The binary under test: FOREBAY, or the debug build. */
export const binary = () =>
  resolve(ROOT, process.env.FOREBAY ?? join(process.env.CARGO_TARGET_DIR ?? 'target', 'debug', 'forebay'))

/**
 * `extra` is TOML appended to the quickstart configuration; without models no engine starts. Port 0 picks a free port. A
 * node `beside` another uses its store, and has no accounts of its own.
 */
type StartOptions = { extra?: string; port?: number; withModels?: boolean; store?: string; beside?: Forebay }

export async function startForebay(options: StartOptions = {}): Promise<Forebay> {
  const { extra = '', port = 0, withModels = true, store, beside } = options
  const folder = mkdtempSync(join(tmpdir(), 'forebay-console.'))
  const config = join(folder, 'forebay.toml')
  const whole = readFileSync(join(ROOT, 'config/quickstart.toml'), 'utf8')
  const models = withModels ? whole : (whole.split('[[models]]')[0] ?? '')
  const quickstart = store ? models.replace('url = "sqlite:forebay.db"', `url = "${store}"`) : models
  const server = `[server]\nlisten = "127.0.0.1:${port}"\nops_listen = "127.0.0.1:0"\ndrain_timeout = "1s"\n\n`
  writeFileSync(config, server + quickstart.replaceAll('"../data/', `"${ROOT}data/`) + extra)
  const log = join(folder, 'forebay.log')
  const out = openSync(log, 'w')
  const data = join(folder, 'data')
  // Keys of model servers are stored encrypted, which needs a content key.
  const contentKey = process.env.FOREBAY_CONTENT_KEY ?? randomBytes(32).toString('base64')
  const env = { ...process.env, FOREBAY_CONTENT_KEY: contentKey }
  const child = spawn(binary(), ['serve', '--config', config, '--data-dir', data], { env, stdio: ['ignore', out, out] })
  const stop = async () => {
    await terminate(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const read = (name: string) => {
      const path = join(data, name)
      return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
    }
    const listen = await until('forebay listens', () => assertRunning(child, log) && read('listen.json'))
    const bootstrap: Bootstrap = beside ?? (await until('bootstrap.json is there', () => read('bootstrap.json')))
    const url = `http://${listen.public}`
    await until('every model is available', () => assertRunning(child, log) && allAvailable(url, bootstrap.apiKey))
    return { ...bootstrap, url, stop, kill: () => terminate(child, 'SIGKILL') }
  } catch (error) {
    const output = readFileSync(log, 'utf8').slice(-3_000)
    await stop()
    throw new Error(`${error}\n${output}`)
  }
}

function assertRunning(child: ChildProcess, log: string): true {
  if (child.exitCode !== null) throw new Error(`forebay ended with ${child.exitCode}; its log: ${log}`)
  return true
}

async function allAvailable(url: string, key: string): Promise<boolean> {
  const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  const { data } = (await response.json()) as { data: { status: string }[] }
  return data.every((model) => model.status === 'available')
}

async function until<T>(condition: string, check: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + START_MS
  while (Date.now() < deadline) {
    const found = await check()
    if (found) return found as NonNullable<T>
    await new Promise((wake) => setTimeout(wake, POLL_MS))
  }
  throw new Error(`timed out waiting until ${condition}`)
}

/** Stops the server; SIGINT also stops replicas of dedicated endpoints. */
async function terminate(child: ChildProcess, signal: NodeJS.Signals = 'SIGINT') {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await exited
  clearTimeout(timer)
}

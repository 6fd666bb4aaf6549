/** Starts a real forebay-engine with the starter weights, as a server of its own. */

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { binary } from './forebay'

/** The starter weights. */
export const WEIGHTS = fileURLToPath(
  new URL('../../data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url),
)
/** Small, because other engines run beside it. */
const OPTIONS = ['--ctx', '2048', '--kv-cache-tokens', '4096', '--parallel', '2', '--threads', '1']

export type Engine = { url: string; stop: () => Promise<void> }

/** The engine ends with its standard input, also if the tests are killed. */
export async function startEngine(modelName: string): Promise<Engine> {
  const program = join(binary(), '..', 'forebay-engine')
  const name = ['--model-name', modelName, '--stop-with-stdin']
  const child = spawn(program, ['--model', WEIGHTS, ...name, ...OPTIONS], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const address = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
      const found = /listening on (\S+)/.exec(output)?.[1]
      if (found) resolve(found)
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`forebay-engine ended with ${code}`)))
  })
  const stop = async () => {
    child.stdin.end()
    await exited
  }
  return { url: `http://${address}/v1`, stop }
}

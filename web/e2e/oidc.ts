/** Starts a forebay with single sign-on and a real provider, like `tests/oidc/run.py`. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { request } from '@playwright/test'
import { mutate } from './api'
import { type Forebay, startForebay } from './forebay'

const PROVIDER = fileURLToPath(new URL('../../scripts/oidc-provider', import.meta.url))
const SECRET = 'a secret'

export type WithProvider = { forebay: Forebay; provider: string; stop: () => Promise<void> }

/** The provider's user bob also has a Forebay account. */
export async function startWithProvider(): Promise<WithProvider> {
  const [port, providerPort] = [await freePort(), await freePort()]
  const provider = `http://127.0.0.1:${providerPort}`
  const child = spawn(PROVIDER, [String(providerPort), `http://127.0.0.1:${port}/api/session/oidc/callback`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await listening(child)
    process.env.FOREBAY_E2E_OIDC_SECRET = SECRET
    const oidc = `\n[oidc]\nissuer = "${provider}"\nclient_id = "forebay"\nclient_secret_env = "FOREBAY_E2E_OIDC_SECRET"\nname = "Acme login"\n`
    const forebay = await startForebay({ extra: oidc, port, withModels: false })
    await createAccount(forebay, 'bob@example.com')
    const stop = async () => {
      await forebay.stop()
      child.kill()
    }
    return { forebay, provider, stop }
  } catch (error) {
    child.kill()
    throw error
  }
}

async function createAccount({ url, email, password, organizationId }: Forebay, address: string) {
  const api = await request.newContext({ baseURL: url })
  await api.post('/api/session', { data: { email, password } })
  await mutate(api, 'POST', '/api/users', { email: address, organizationId, role: 'admin' })
  await api.dispose()
}

const listening = (child: ChildProcess) =>
  new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (output) => String(output).includes('listening') && resolve())
    child.once('exit', (code) => reject(new Error(`the provider ended with ${code}`)))
  })

const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port')),
      )
    })
  })

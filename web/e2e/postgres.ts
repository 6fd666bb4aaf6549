/** A PostgreSQL for tests with several nodes. */

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('../../scripts/postgres', import.meta.url))

export type Postgres = { url: string; stop: () => void }

export function startPostgres(): Postgres {
  const folder = mkdtempSync(join(tmpdir(), 'forebay-postgres.'))
  chmodSync(folder, 0o755) // PostgreSQL runs as another user if we are root
  const data = join(folder, 'postgres')
  const url = execFileSync(SCRIPT, ['start', data], { encoding: 'utf8' }).trim()
  const stop = () => {
    execFileSync(SCRIPT, ['stop', data], { stdio: 'ignore' })
    rmSync(folder, { recursive: true, force: true })
  }
  return { url, stop }
}

// Empties dist/ but for its .gitignore: cargo watches the folder, so it must never be gone.
import { readdirSync, rmSync } from 'node:fs'

const dist = new URL('../dist/', import.meta.url)
for (const name of readdirSync(dist)) {
  if (name !== '.gitignore') rmSync(new URL(name, dist), { recursive: true })
}

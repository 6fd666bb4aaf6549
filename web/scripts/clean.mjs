// Empties dist/ but for its .gitignore: cargo watches the folder, so it must never be gone. An image's build has none yet.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'

const dist = new URL('../dist/', import.meta.url)
mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist)) {
  if (name !== '.gitignore') rmSync(new URL(name, dist), { recursive: true })
}

// Empties dist/ except for its .gitignore. cargo watches the folder, so it is kept; an image build has none yet.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'

const dist = new URL('../dist/', import.meta.url)
mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist)) {
  if (name !== '.gitignore') rmSync(new URL(name, dist), { recursive: true })
}

// Writes FILE.br and FILE.gz beside every text file of dist/, so that the server does not compress at runtime.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const TEXT = new Set(['.js', '.css', '.svg', '.html'])
const dist = fileURLToPath(new URL('../dist', import.meta.url))

for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !TEXT.has(extname(entry.name))) continue
  const path = join(entry.parentPath, entry.name)
  const plain = readFileSync(path)
  writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }))
  writeFileSync(`${path}.br`, brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
}

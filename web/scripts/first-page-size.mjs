// Fails if a first page loads more than 400 KiB gzipped: the document, its scripts and styles, the page's own chunks,
// and the fonts for Latin text.
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const LIMIT_KIB = 400
const FIRST_PAGES = [
  'src/pages/sign-in/SignInPage.tsx',
  'src/pages/models/ModelsPage.tsx',
  'src/pages/models/ModelPage.tsx',
]
const LATIN_FONTS = /(inter|jetbrains-mono)-latin-wght-normal/
const dist = fileURLToPath(new URL('../dist/', import.meta.url))
const manifest = JSON.parse(readFileSync(`${dist}.vite/manifest.json`, 'utf8'))

function filesOf(key, found = new Set()) {
  const chunk = manifest[key]
  if (!chunk) throw new Error(`${key} is not in the manifest of the build`)
  if (found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const file of [...(chunk.css ?? []), ...(chunk.assets ?? []).filter((asset) => LATIN_FONTS.test(asset))])
    found.add(file)
  for (const imported of chunk.imports ?? []) filesOf(imported, found)
  return found
}

const gzipped = (file) =>
  file.endsWith('.woff2') ? statSync(dist + file).size : gzipSync(readFileSync(dist + file), { level: 9 }).length
const common = new Set(['index.html', 'theme.js', ...filesOf('index.html')])
for (const font of Object.values(manifest)) if (LATIN_FONTS.test(font.file)) common.add(font.file)

let failed = false
for (const page of FIRST_PAGES) {
  const files = new Set([...common, ...filesOf(page)])
  const bytes = [...files].reduce((sum, file) => sum + gzipped(file), 0)
  const isTooLarge = bytes > LIMIT_KIB * 1024
  failed ||= isTooLarge
  console.log(
    `${page}: ${(bytes / 1024).toFixed(1)} KiB gzipped in ${files.size} files (limit ${LIMIT_KIB})${isTooLarge ? ' TOO LARGE' : ''}`,
  )
}
process.exit(failed ? 1 : 0)

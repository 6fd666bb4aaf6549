// Writes src/api/schema.ts from /openapi.json: npm run schema [-- ADDRESS OR FILE]   (default http://127.0.0.1:8080/openapi.json)
// npm run schema -- --check ADDRESS fails if the file in the repository differs.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import openapi, { astToString } from 'openapi-typescript'

const HEADER = '/** Generated from /openapi.json by `npm run schema`; do not edit. */\n\n'
const target = new URL('../src/api/schema.ts', import.meta.url)
const options = process.argv.slice(2)
const isCheck = options.includes('--check')
const from = options.find((option) => option !== '--check') ?? 'http://127.0.0.1:8080/openapi.json'
const source = /^https?:/.test(from) ? new URL(from) : pathToFileURL(from)
const text = HEADER + astToString(await openapi(source, { alphabetize: true }))
if (!isCheck) {
  writeFileSync(target, text)
} else if (readFileSync(target, 'utf8') !== text) {
  console.error('src/api/schema.ts differs from /openapi.json; run `npm run schema` against a running forebay')
  process.exit(1)
}

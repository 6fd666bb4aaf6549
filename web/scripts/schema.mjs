// Writes src/api/schema.ts from /openapi.json: npm run schema [-- ADDRESS OR FILE]   (default http://127.0.0.1:8080/openapi.json)
// npm run schema -- --check ADDRESS fails if the file in the repository differs.
import { readFileSync, writeFileSync } from 'node:fs'
import openapi, { astToString } from 'openapi-typescript'

const HEADER = '/** Generated from /openapi.json by `npm run schema`; do not edit. */\n\n'
/** Schemas whose ranges are exported as values, since types cannot express them. */
const WITH_RANGES = ['EndpointScaling']

const target = new URL('../src/api/schema.ts', import.meta.url)
const options = process.argv.slice(2)
const isCheck = options.includes('--check')
const from = options.find((option) => option !== '--check') ?? 'http://127.0.0.1:8080/openapi.json'
const document = /^https?:/.test(from) ? await (await fetch(from)).json() : JSON.parse(readFileSync(from, 'utf8'))

/** `[minimum, maximum]` of each member of a schema that has a maximum. */
function rangesOf(name) {
  const properties = document.components.schemas[name]?.properties
  if (!properties) throw new Error(`/openapi.json has no schema ${name} with properties`)
  const bounded = Object.entries(properties).filter(([, schema]) => schema.maximum !== undefined)
  return bounded.map(([member, { minimum = 0, maximum }]) => `        ${member}: [${minimum}, ${maximum}],\n`).join('')
}

const ranges = WITH_RANGES.map((name) => `    ${name}: {\n${rangesOf(name)}    },\n`).join('')
const types = astToString(await openapi(structuredClone(document), { alphabetize: true }))
const text = `${HEADER}${types}\n/** Ranges of numbers, by schema and member. */\nexport const ranges = {\n${ranges}} as const;\n`
if (!isCheck) {
  writeFileSync(target, text)
} else if (readFileSync(target, 'utf8') !== text) {
  console.error('src/api/schema.ts differs from /openapi.json; run `npm run schema` against a running forebay')
  process.exit(1)
}

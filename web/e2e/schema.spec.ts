import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from './fixtures'

test('the types of the console match /openapi.json', ({ forebay }) => {
  const script = fileURLToPath(new URL('../scripts/schema.mjs', import.meta.url))
  const checked = spawnSync('node', [script, '--check', `${forebay.url}/openapi.json`], { encoding: 'utf8' })
  expect(checked.stderr).toBe('')
  expect(checked.status).toBe(0)
})

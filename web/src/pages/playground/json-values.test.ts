import { expect, it } from 'vitest'
import { inLines, readSchema, readTools, TOOLS_EXAMPLE } from './json-values'

it('tools are read as the API has them, and as mere functions', () => {
  const [definition] = TOOLS_EXAMPLE
  const tool = { type: 'function', function: definition }
  expect(readTools(TOOLS_EXAMPLE)).toEqual([tool])
  expect(readTools([tool])).toEqual([tool])
  expect(readTools(definition)).toEqual([tool])
  expect([readTools([{ description: 'nameless' }]), readTools('x')]).toEqual([expect.any(String), expect.any(String)])
})

it('a schema is an object', () => {
  expect([readSchema({ type: 'object' }), readSchema([1])]).toEqual([{ type: 'object' }, expect.any(String)])
})

it('JSON is shown in lines, other text as it is', () => {
  expect([inLines('{"a":1}'), inLines('{"a":')]).toEqual(['{\n  "a": 1\n}', '{"a":'])
})

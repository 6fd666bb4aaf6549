/** Schemas and tools that users type as JSON. */

import type { ResponseFormat, Tool } from '../../api/inference'

export const SCHEMA_EXAMPLE = {
  type: 'object',
  properties: { name: { type: 'string' }, rivers: { type: 'array', items: { type: 'string' } } },
  required: ['name', 'rivers'],
  additionalProperties: false,
}

export const TOOLS_EXAMPLE = [
  {
    name: 'get_weather',
    description: 'The current weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
]

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const readSchema = (json: unknown): object | string => (isObject(json) ? json : 'a schema is a JSON object')

export const jsonSchema = (schema: object): ResponseFormat => ({
  type: 'json_schema',
  json_schema: { name: 'response', strict: true, schema },
})

/** Reads tools as the API has them, or only their functions. */
export function readTools(json: unknown): Tool[] | string {
  const tools: Tool[] = []
  for (const one of Array.isArray(json) ? json : [json]) {
    const definition = isObject(one) && isObject(one.function) ? one.function : one
    if (!isObject(definition) || typeof definition.name !== 'string' || !definition.name)
      return 'each tool has a name, a description and parameters'
    tools.push({ type: 'function', function: definition as Tool['function'] })
  }
  return tools
}

/** JSON in lines, or the text itself if it is not JSON, or not yet. */
export function inLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

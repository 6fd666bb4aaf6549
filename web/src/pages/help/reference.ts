/** The operations of `/openapi.json`, as the gateway of this page describes them. */

import { queryOptions } from '@tanstack/react-query'
import { unwrap } from '../../api/client'

export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  enum?: unknown[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  minimum?: number
  maximum?: number
  maxLength?: number
}
type Content = { description?: string; content?: Record<string, { schema?: Schema }> }
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema }
type Described = {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: Content
  responses?: Record<string, Content & { $ref?: string }>
}
export type ApiDocument = {
  paths: Record<string, Record<string, Described>>
  components?: { schemas?: Record<string, Schema>; responses?: Record<string, Content> }
}

export type Member = { name: string; type: string; isRequired: boolean; description: string; schema: Schema }
export type Body = { type: string; schema: Schema }
export type Operation = {
  id: string
  method: string
  path: string
  tag: string
  summary: string
  description: string
  parameters: (Member & { in: string })[]
  request: Body[]
  responses: { status: string; description: string; bodies: Body[] }[]
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

export const documentQuery = queryOptions({
  queryKey: ['openapi'],
  queryFn: ({ signal }) => unwrap<ApiDocument>(read(signal)),
  staleTime: Number.POSITIVE_INFINITY,
})

async function read(signal: AbortSignal) {
  const response = await fetch(new URL('/openapi.json', location.origin), { signal })
  return { response, ...(response.ok ? { data: await response.json() } : { error: await response.text() }) }
}

export function operationsOf({ paths, components }: ApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const described = item[method]
      if (!described) return []
      const {
        operationId,
        summary = '',
        description = '',
        tags,
        parameters = [],
        requestBody,
        responses = {},
      } = described
      return {
        id: operationId ?? `${method} ${path}`,
        method: method.toUpperCase(),
        path,
        tag: tags?.[0] ?? 'other',
        summary,
        description,
        parameters: parameters.map((one) => ({ ...member(one.name, one.schema ?? {}, one.required), ...one })),
        request: bodiesOf(requestBody),
        responses: Object.entries(responses).map(([status, response]) => {
          const shared = response.$ref ? components?.responses?.[nameIn(response.$ref)] : undefined
          const { description = '', ...whole } = shared ?? response
          return { status, description, bodies: bodiesOf(whole) }
        }),
      }
    }),
  )
}

/** Those that have all typed words. */
export function foundOperations(operations: readonly Operation[], typed: string): Operation[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  return operations.filter(({ method, path, summary, tag }) => {
    const text = `${method} ${path} ${summary} ${tag}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

const bodiesOf = ({ content = {} }: Content = {}): Body[] =>
  Object.entries(content).map(([media, { schema = {} }]) => ({
    type: media === 'application/json' ? typeOf(schema) : media,
    schema,
  }))

const nameIn = (reference: string) => reference.split('/').pop() ?? ''

/** `string or null`, `array of Endpoint`, `integer, 1 to 500`. */
export function typeOf(schema: Schema): string {
  if (schema.$ref) return nameIn(schema.$ref)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ')
  const choices = schema.oneOf ?? schema.anyOf ?? schema.allOf
  if (choices) return [...new Set(choices.map(typeOf))].join(schema.allOf ? ' and ' : ' or ')
  return (
    [schema.type ?? 'any']
      .flat()
      .map((type) => kindOf(type, schema))
      .join(' or ') + boundsOf(schema)
  )
}

function kindOf(type: string, { items, additionalProperties, format }: Schema): string {
  if (type === 'array') return `array of ${typeOf(items ?? {})}`
  if (type === 'object' && typeof additionalProperties === 'object') return `object of ${typeOf(additionalProperties)}`
  return type === 'string' && format ? `string (${format})` : type
}

function boundsOf({ minimum, maximum, maxLength }: Schema): string {
  if (maxLength !== undefined) return `, at most ${maxLength} characters`
  if (minimum !== undefined && maximum !== undefined) return `, ${minimum} to ${maximum}`
  if (minimum !== undefined) return `, at least ${minimum}`
  return maximum === undefined ? '' : `, at most ${maximum}`
}

/** The members of a schema, of what its lists hold, and of all its parts. */
export const membersOf = (schema: Schema, document: ApiDocument): Member[] =>
  objectsIn(schema, document.components?.schemas ?? {}, []).flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(([name, value]) => member(name, value, required.includes(name))),
  )

function objectsIn(schema: Schema, schemas: Record<string, Schema>, seen: string[]): Schema[] {
  const { $ref, items, additionalProperties, allOf = [], anyOf = [], oneOf = [] } = schema
  const name = $ref ? nameIn($ref) : ''
  if (name) return seen.includes(name) ? [] : objectsIn(schemas[name] ?? {}, schemas, [...seen, name])
  const values = typeof additionalProperties === 'object' ? [additionalProperties] : []
  const parts = [...(items ? [items] : []), ...values, ...allOf, ...anyOf, ...oneOf]
  return [...(schema.properties ? [schema] : []), ...parts.flatMap((part) => objectsIn(part, schemas, seen))]
}

const member = (name: string, schema: Schema, isRequired = false): Member => ({
  name,
  type: typeOf(schema),
  isRequired,
  description: schema.description ?? '',
  schema,
})

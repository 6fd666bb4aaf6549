// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { renderInConsole } from '../../testing'
import { Operations } from './Operations'
import { type ApiDocument, foundOperations, membersOf, operationsOf, typeOf } from './reference'

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const json = (name: string) => ({ 'application/json': { schema: reference(name) } })
const api: ApiDocument = {
  paths: {
    '/api/keys': {
      get: {
        operationId: 'listKeys',
        tags: ['keys'],
        summary: 'The keys, newest first.',
        parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 500 } }],
        responses: { 200: { description: '', content: json('Key') } },
      },
      post: {
        operationId: 'makeKey',
        tags: ['keys'],
        summary: 'Make a key.',
        description: 'It is shown once.',
        requestBody: { content: json('NewKey') },
        responses: {
          201: { description: 'the text of the key', content: json('Key') },
          409: { $ref: '#/components/responses/Error409' },
        },
      },
    },
    '/v1/models': { get: { tags: ['inference'], responses: {} } },
  },
  components: {
    schemas: {
      NewKey: { allOf: [reference('Named'), { properties: { parents: { type: 'array', items: reference('Key') } } }] },
      Named: { required: ['name'], properties: { name: { type: 'string', maxLength: 64, description: 'For `you`.' } } },
      Key: { properties: { parent: { oneOf: [{ type: 'null' }, reference('Key')] } } },
      Json: { anyOf: [{ type: 'string' }, { type: 'array', items: reference('Json') }] },
    },
    responses: { Error409: { description: '`name_taken`' } },
  },
}
const operations = operationsOf(api)

it('reads operations, and finds them by words', () => {
  const ids = (typed: string) => foundOperations(operations, typed).map(({ id }) => id)
  expect(ids('')).toEqual(['listKeys', 'makeKey', 'get /v1/models'])
  expect([ids('POST keys'), ids('newest'), ids('inference'), ids('nothing')]).toEqual([
    ['makeKey'],
    ['listKeys'],
    ['get /v1/models'],
    [],
  ])
})

it('names types, and finds members in lists, parts and schemas that contain themselves', () => {
  expect(typeOf({ type: ['string', 'null'], format: 'date-time' })).toBe('string (date-time) or null')
  expect(typeOf({ type: 'array', items: { enum: ['a', 'b'] } })).toBe('array of "a" or "b"')
  expect(typeOf({ type: 'object', additionalProperties: reference('Key') })).toBe('object of Key')
  const members = (name: string) => membersOf(reference(name), api).map(({ name, type }) => `${name}: ${type}`)
  expect(members('NewKey')).toEqual(['name: string, at most 64 characters', 'parents: array of Key'])
  expect([members('Key'), members('Json')]).toEqual([['parent: null or Key'], []])
})

it('shows the linked operation, and members as they are opened', async () => {
  renderInConsole(<Operations document={api} operations={operations} linked="makeKey" />)
  screen.getByText('It is shown once.')
  screen.getByText('name_taken')
  expect(screen.queryByText('limit')).toBeNull()
  await userEvent.click(screen.getByText('NewKey'))
  screen.getByText(/string, at most 64 characters, required/)
  await userEvent.click(screen.getByText('Members of parents'))
  await userEvent.click(screen.getByText('Members of parent'))
  expect(screen.getAllByText('Members of parent')).toHaveLength(2)
})

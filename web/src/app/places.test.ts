import { expect, it } from 'vitest'
import { foundPlaces, placesOf } from './places'

const known = {
  isOperator: false,
  models: [
    { id: 'acme/gemma-2b', name: 'Gemma 2B' },
    { id: 'acme/llama', name: 'acme/llama' },
  ],
  endpoints: [{ name: 'chat-eu' }],
  keys: [{ id: 'key_1', name: 'chat-backend' }],
}
const labels = (typed: string, isOperator = false) =>
  foundPlaces(placesOf({ ...known, isOperator }), typed).map(({ kind, label }) => `${kind}: ${label}`)

it('finds pages, endpoints, models and keys by all typed words, and beginnings first', () => {
  expect(labels('chat')).toEqual(['Endpoint: chat-eu', 'Key: chat-backend'])
  expect(labels('2b gemma')).toEqual(['Model: Gemma 2B (acme/gemma-2b)'])
  expect(labels('end')[0]).toBe('Build: Endpoints')
})

it('keeps what the server found by something else than the label', () => {
  const found = (areFound: boolean) => foundPlaces(placesOf({ ...known, areFound }), 'sk-4f2').map(({ label }) => label)
  expect([found(true), found(false)]).toEqual([['chat-eu', 'chat-backend'], []])
})

it('leads to a request by its id', () => expect(labels('req_01abc')).toEqual(['Request: req_01abc']))

it('offers the pages of the operator to operators only', () => {
  expect([labels('organizations'), labels('organizations', true)]).toEqual([[], ['Operate: Organizations']])
})

import { expect, it } from 'vitest'
import { endpointOf, failedLine } from './lines'

it('shows why lines failed, whether they had a response or not', () => {
  const lines = [
    { custom_id: 'a', response: { status_code: 404, body: { error: { code: 'model_not_found', message: 'no' } } } },
    { custom_id: 'b', response: null, error: { code: 'batch_expired', message: 'too late' } },
    { custom_id: 'c', response: { status_code: 500, body: 'text' }, error: null },
  ]
  expect(lines.map(failedLine)).toEqual([
    { customId: 'a', status: 404, code: 'model_not_found', message: 'no' },
    { customId: 'b', status: undefined, code: 'batch_expired', message: 'too late' },
    { customId: 'c', status: 500, code: '', message: '' },
  ])
})

it('finds the route in the first line of a file', () => {
  const line = (url: string) => JSON.stringify({ custom_id: 'a', method: 'POST', url, body: {} })
  expect(endpointOf(`${line('/v1/embeddings')}\n${line('/v1/responses')}`)).toBe('/v1/embeddings')
  expect(endpointOf(line('/v1/models'))).toBeUndefined()
  expect(endpointOf('not json')).toBeUndefined()
})

import { describe, expect, it } from 'vitest'
import { asFailure, readFailure } from './errors'

const answer = (path: string, status: number, headers: Record<string, string> = {}) => ({
  url: `http://127.0.0.1:8080${path}`,
  status,
  headers: new Headers({ 'x-request-id': 'req_1', ...headers }),
})

describe('readFailure', () => {
  it('reads the envelope of /v1', () => {
    const body = { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'slow down', param: '' } }
    const failure = readFailure(answer('/v1/chat/completions', 429, { 'retry-after': '7' }), body)
    expect(failure).toMatchObject({ kind: 'refusal', status: 429, code: 'rate_limit_exceeded', requestId: 'req_1' })
    expect([failure.message, failure.field, failure.retryAfterSecs]).toEqual(['slow down', undefined, 7])
  })
  it('reads the envelope of /api with its further members', () => {
    const body = { code: 'key_limit_reached', error: 'no more keys', limit: 20 }
    const failure = readFailure(answer('/api/workspaces/ws_1/keys', 409), body)
    expect(failure).toMatchObject({ code: 'key_limit_reached', message: 'no more keys', details: { limit: 20 } })
  })
  it('reads the small envelope of endpoints and finds the field', () => {
    const body = { detail: 'maxReplicas: must be between 1 and 64', code: 'OUT_OF_RANGE' }
    expect(readFailure(answer('/v1/endpoints', 422), body)).toMatchObject({
      code: 'OUT_OF_RANGE',
      field: 'maxReplicas',
    })
  })
  it('reads a problem and keeps its numbers', () => {
    const extensions = { code: 'GPU_ALLOTMENT_EXCEEDED', allotment: 16, committed: 12, projected: 18, need: 2 }
    const body = {
      type: 'x',
      title: 'GPU allotment exceeded',
      status: 409,
      detail: 'too many',
      instance: 'y',
      extensions,
    }
    const failure = readFailure(answer('/v1/endpoints/chat/resume', 409), body)
    expect(failure).toMatchObject({ code: 'GPU_ALLOTMENT_EXCEEDED', message: 'too many', details: { need: 2 } })
  })
  it.each(['<html>504</html>', '', undefined, [], { detail: 'not of this surface' }])(
    'takes %j for a transport failure',
    (body) => {
      expect(readFailure(answer('/api/session', 502), body)).toMatchObject({ kind: 'transport', code: undefined })
    },
  )
})

describe('asFailure', () => {
  it('keeps the words of whatever was thrown', () => {
    expect(asFailure(new Error('boom')).message).toBe('boom')
    expect(asFailure('boom').message).toBe('boom')
  })
})

import { describe, expect, it } from 'vitest'
import { readApiError, toApiError } from './errors'

const response = (path: string, status: number, headers: Record<string, string> = {}) => ({
  url: `http://127.0.0.1:8080${path}`,
  status,
  headers: new Headers({ 'x-request-id': 'req_1', ...headers }),
})

describe('readApiError', () => {
  it('reads the envelope of /v1', () => {
    const body = { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'slow down', param: '' } }
    const error = readApiError(response('/v1/chat/completions', 429, { 'retry-after': '7' }), body)
    expect(error).toMatchObject({ kind: 'api', status: 429, code: 'rate_limit_exceeded', requestId: 'req_1' })
    expect([error.message, error.field, error.retryAfterSecs]).toEqual(['slow down', undefined, 7])
  })
  it('reads the envelope of /api with its extra members', () => {
    const body = { code: 'key_limit_reached', error: 'no more keys', limit: 20 }
    const error = readApiError(response('/api/workspaces/ws_1/keys', 409), body)
    expect(error).toMatchObject({ code: 'key_limit_reached', message: 'no more keys', details: { limit: 20 } })
  })
  it('reads the short endpoint envelope and extracts the field', () => {
    const body = { detail: 'maxReplicas: must be between 1 and 64', code: 'OUT_OF_RANGE' }
    expect(readApiError(response('/v1/endpoints', 422), body)).toMatchObject({
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
    const error = readApiError(response('/v1/endpoints/chat/resume', 409), body)
    expect(error).toMatchObject({ code: 'GPU_ALLOTMENT_EXCEEDED', message: 'too many', details: { need: 2 } })
  })
  it.each(['<html>504</html>', '', undefined, [], { detail: 'not of this surface' }])(
    'treats %j as a transport error',
    (body) => {
      expect(readApiError(response('/api/session', 502), body)).toMatchObject({ kind: 'transport', code: undefined })
    },
  )
})

describe('toApiError', () => {
  it('keeps the message of any thrown value', () => {
    expect(toApiError(new Error('boom')).message).toBe('boom')
    expect(toApiError('boom').message).toBe('boom')
  })
})

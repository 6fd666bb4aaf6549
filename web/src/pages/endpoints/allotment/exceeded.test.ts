import { describe, expect, it } from 'vitest'
import { readApiError } from '../../../api/errors'
import { exceededOf } from './exceeded'

const response = { status: 409, headers: new Headers(), url: 'http://localhost/v1/endpoints' }
const numbers = { gpuType: 'nvidia/h100-sxm-80gb', allotment: 16, committed: 12, projected: 18, need: 2 }
const error = (extensions: object) => readApiError(response, { title: 'x', detail: 'too many', extensions })

describe('an exceeded GPU allotment', () => {
  it('has its numbers', () => {
    expect(exceededOf(error({ code: 'GPU_ALLOTMENT_EXCEEDED', ...numbers }))).toEqual(numbers)
  })
  it('has a link to how the allotment works', () => {
    const remediation = 'https://example.com/docs/limits'
    const help = (value: unknown) =>
      exceededOf(error({ code: 'GPU_ALLOTMENT_EXCEEDED', ...numbers, remediation: value }))?.help
    expect([help(remediation), help(7)]).toEqual([remediation, undefined])
  })
  it('is not read from other errors, or without numbers', () => {
    expect(exceededOf(error({ code: 'ENDPOINT_NAME_IN_USE', ...numbers }))).toBeUndefined()
    expect(exceededOf(error({ code: 'GPU_ALLOTMENT_EXCEEDED' }))).toBeUndefined()
  })
})

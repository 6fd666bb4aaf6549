import { describe, expect, it } from 'vitest'
import { readFailure } from '../../../api/errors'
import { exceededOf } from './exceeded'

const answer = { status: 409, headers: new Headers(), url: 'http://localhost/v1/endpoints' }
const numbers = { gpuType: 'nvidia/h100-sxm-80gb', allotment: 16, committed: 12, projected: 18, need: 2 }
const failure = (extensions: object) => readFailure(answer, { title: 'x', detail: 'too many', extensions })

describe('a refusal for want of GPUs', () => {
  it('has its numbers', () => {
    expect(exceededOf(failure({ code: 'GPU_ALLOTMENT_EXCEEDED', ...numbers }))).toEqual(numbers)
  })
  it('is no other refusal, nor one without numbers', () => {
    expect(exceededOf(failure({ code: 'ENDPOINT_NAME_IN_USE', ...numbers }))).toBeUndefined()
    expect(exceededOf(failure({ code: 'GPU_ALLOTMENT_EXCEEDED' }))).toBeUndefined()
  })
})

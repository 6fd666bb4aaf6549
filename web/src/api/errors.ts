/**
 * How each surface says no. One reader per surface; a body that is not JSON is a transport failure: it comes from a
 * proxy, from the edge, or from nobody.
 */

/** What the API, or the way to it, refused. */
export class Failure extends Error {
  /** `refusal`: in the words of the API. `transport`: it was not reached, or somebody else answered. */
  readonly kind: 'refusal' | 'transport'
  readonly status: number | undefined
  /** Stable, and made for programs; undefined for transport failures. */
  readonly code: string | undefined
  /** The member of the request that is at fault. */
  readonly field: string | undefined
  /** What to tell whoever looks into it. */
  readonly requestId: string | undefined
  readonly retryAfterSecs: number | undefined
  /** Further members that the API sent: the numbers of a refusal. */
  readonly details: Record<string, unknown>

  constructor(kind: Failure['kind'], said: Said, answer?: AnswerHead, cause?: unknown) {
    super(said.message, { cause })
    this.name = 'Failure'
    this.kind = kind
    this.status = answer?.status
    this.code = said.code
    this.field = said.field
    this.details = said.details ?? {}
    this.requestId = answer?.headers.get('x-request-id') ?? undefined
    const retryAfter = Number(answer?.headers.get('retry-after') ?? Number.NaN)
    this.retryAfterSecs = Number.isFinite(retryAfter) ? retryAfter : undefined
  }
}

type AnswerHead = Pick<Response, 'status' | 'headers' | 'url'>
type Said = { message: string; code?: string; field?: string; details?: Record<string, unknown> }
type Reader = (body: Members) => Said | undefined
type Members = Record<string, unknown>

/** `/v1`: `{"error":{"type","code","message","param"}}`. */
const readOpenai: Reader = ({ error }) => {
  if (!isMembers(error)) return undefined
  const { message, code, param } = error
  if (typeof message !== 'string') return undefined
  return { message, code: text(code), field: text(param) || undefined, details: error }
}

/** `/api`: `{"code","error",…}`. */
const readConsole: Reader = (body) => {
  const { code, error, field } = body
  if (typeof error !== 'string') return undefined
  return { message: error, code: text(code), field: text(field), details: body }
}

/** `/v1/endpoints`: a small `{"detail","code"}`, whose detail begins with the field, or a problem of RFC 7807. */
const readEndpoints: Reader = ({ detail, code, extensions }) => {
  if (typeof detail !== 'string') return undefined
  if (isMembers(extensions)) return { message: detail, code: text(extensions.code), details: extensions }
  return { message: detail, code: text(code), field: /^([A-Za-z][\w.[\]]*): /.exec(detail)?.[1] }
}

function readerOf(path: string): Reader {
  if (path.startsWith('/api')) return readConsole
  return path === '/v1/endpoints' || path.startsWith('/v1/endpoints/') ? readEndpoints : readOpenai
}

/** What an answer that is no success means. `body` is parsed JSON, or the text that is none. */
export function readFailure(answer: AnswerHead, body: unknown): Failure {
  const path = new URL(answer.url || '/', 'http://forebay.invalid').pathname
  const said = isMembers(body) ? readerOf(path)(body) : undefined
  if (said) return new Failure('refusal', said, answer)
  const message =
    answer.status === 504
      ? 'Nothing answered in time (504). It may work when tried again.'
      : `The answer is not one of Forebay's (status ${answer.status}). Is there a proxy in between?`
  return new Failure('transport', { message }, answer)
}

/** The request did not reach anybody, or the answer broke off. */
export function unreachable(cause: unknown): Failure {
  return new Failure(
    'transport',
    { message: 'Forebay cannot be reached. Is it running, and the network up?' },
    undefined,
    cause,
  )
}

/** Anything thrown, as something to show. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new Failure('transport', { message }, undefined, thrown)
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const text = (value: unknown) => (typeof value === 'string' ? value : undefined)

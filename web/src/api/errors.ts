/**
 * Error envelopes, with one reader per API surface. A body that is not JSON is a transport error: it comes from a proxy
 * or from the edge timeout.
 */

/** An error response of the API, or a failure to reach it. */
export class ApiError extends Error {
  /** `api`: an error that the API returned. `transport`: the API was not reached, or something else responded. */
  readonly kind: 'api' | 'transport'
  readonly status: number | undefined
  /** Stable, machine-readable code; undefined for transport errors. */
  readonly code: string | undefined
  /** The request member that caused the error. */
  readonly field: string | undefined
  /** For support and logs. */
  readonly requestId: string | undefined
  readonly retryAfterSecs: number | undefined
  /** Other members of the error body, such as the numbers of an exceeded allotment. */
  readonly details: Record<string, unknown>

  constructor(kind: ApiError['kind'], fields: ErrorFields, response?: ResponseHead, cause?: unknown) {
    super(fields.message, { cause })
    this.name = 'ApiError'
    this.kind = kind
    this.status = response?.status
    this.code = fields.code
    this.field = fields.field
    this.details = fields.details ?? {}
    this.requestId = response?.headers.get('x-request-id') ?? undefined
    const retryAfter = Number(response?.headers.get('retry-after') ?? Number.NaN)
    this.retryAfterSecs = Number.isFinite(retryAfter) ? retryAfter : undefined
  }
}

type ResponseHead = Pick<Response, 'status' | 'headers' | 'url'>
type ErrorFields = { message: string; code?: string; field?: string; details?: Record<string, unknown> }
type Reader = (body: JsonObject) => ErrorFields | undefined
type JsonObject = Record<string, unknown>

/** `/v1`: `{"error":{"type","code","message","param"}}`. */
const readOpenai: Reader = ({ error }) => {
  if (!isObject(error)) return undefined
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

/** `/v1/endpoints`: `{"detail","code"}` whose detail begins with the field name, or an RFC 7807 problem. */
const readEndpoints: Reader = ({ detail, code, extensions }) => {
  if (typeof detail !== 'string') return undefined
  if (isObject(extensions)) return { message: detail, code: text(extensions.code), details: extensions }
  return { message: detail, code: text(code), field: /^([A-Za-z][\w.[\]]*): /.exec(detail)?.[1] }
}

function readerOf(path: string): Reader {
  if (path.startsWith('/api')) return readConsole
  return path === '/v1/endpoints' || path.startsWith('/v1/endpoints/') ? readEndpoints : readOpenai
}

/** Converts an error response. `body` is parsed JSON, or the raw text if it is not JSON. */
export function readApiError(response: ResponseHead, body: unknown): ApiError {
  const path = new URL(response.url || '/', 'http://forebay.invalid').pathname
  const fields = isObject(body) ? readerOf(path)(body) : undefined
  if (fields) return new ApiError('api', fields, response)
  const message =
    response.status === 504
      ? 'The request timed out (504). Try again.'
      : `Unexpected response with status ${response.status} that is not from Forebay. Is there a proxy in between?`
  return new ApiError('transport', { message }, response)
}

/** The server was not reached, or the connection was lost. */
export function unreachable(cause: unknown): ApiError {
  return new ApiError(
    'transport',
    { message: 'Cannot reach Forebay. Check that it is running and that the network is up.' },
    undefined,
    cause,
  )
}

/** Converts any thrown value into an error that can be shown. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new ApiError('transport', { message }, undefined, thrown)
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const text = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** The member of the request that an error names, as the path of a form's field: `upstreams[0].url` is `upstreams.0.url`. */
export const fieldPath = (error: unknown) =>
  error instanceof ApiError ? error.field?.replaceAll(/\[(\d+)\]/g, '.$1') : undefined

/** The current record, if the error is a version conflict. */
export function conflictingRecord<T>(error: unknown): T | undefined {
  const isConflict = error instanceof ApiError && error.code === 'version_conflict'
  return isConflict ? (error.details.current as T) : undefined
}

/** Lines of the files of batches: calls, and results. */

/** The routes that lines may call. */
export const ENDPOINTS = [
  { value: '/v1/chat/completions', label: 'Chat completions' },
  { value: '/v1/responses', label: 'Responses' },
  { value: '/v1/completions', label: 'Completions' },
  { value: '/v1/embeddings', label: 'Embeddings' },
  { value: '/v1/rerank', label: 'Rerank' },
] as const
export type BatchEndpoint = (typeof ENDPOINTS)[number]['value']

/** A line of an error file. */
export type FailedLine = { customId: string; status: number | undefined; code: string; message: string }

const object = (value: unknown) =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
const string = (value: unknown) => (typeof value === 'string' ? value : '')

function parsed(line: string) {
  try {
    return object(JSON.parse(line))
  } catch {
    return undefined
  }
}

/** A line that had a response has its error; one that never had has an error of its own. */
export function failedLine(line: unknown): FailedLine {
  const members = object(line)
  const response = object(members?.response)
  const error = object(members?.error) ?? object(object(response?.body)?.error)
  return {
    customId: string(members?.custom_id),
    status: typeof response?.status_code === 'number' ? response.status_code : undefined,
    code: string(error?.code),
    message: string(error?.message),
  }
}

/** The route that a file of calls names in its first line; undefined if that is none of them. */
export function endpointOf(text: string): BatchEndpoint | undefined {
  const url = parsed(text.split('\n', 1)[0] ?? '')?.url
  return ENDPOINTS.find(({ value }) => value === url)?.value
}

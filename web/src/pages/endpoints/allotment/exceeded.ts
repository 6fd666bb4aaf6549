import type { ApiError } from '../../../api/errors'

export type Exceeded = {
  gpuType: string
  allotment: number
  committed: number
  projected: number
  need: number
  help?: string
}

/** Numbers of a GPU_ALLOTMENT_EXCEEDED error; undefined for any other error. */
export function exceededOf({ code, details }: Pick<ApiError, 'code' | 'details'>): Exceeded | undefined {
  if (code !== 'GPU_ALLOTMENT_EXCEEDED') return undefined
  const number = (name: string) => (typeof details[name] === 'number' ? (details[name] as number) : undefined)
  const [allotment, committed, projected, need] = ['allotment', 'committed', 'projected', 'need'].map(number)
  if (typeof details.gpuType !== 'string' || allotment === undefined) return undefined
  if (committed === undefined || projected === undefined || need === undefined) return undefined
  const help = typeof details.remediation === 'string' ? details.remediation : undefined
  return { gpuType: details.gpuType, allotment, committed, projected, need, help }
}

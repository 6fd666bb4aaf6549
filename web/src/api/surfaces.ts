/** The APIs by which models are called; values of `surface` in usage, charts and the request log. */

export const SURFACES = [
  'chat',
  'messages',
  'responses',
  'completions',
  'embeddings',
  'rerank',
  'score',
  'batch',
] as const
export type SurfaceName = (typeof SURFACES)[number]

const LABELS: Record<SurfaceName, string> = {
  chat: 'Chat completions',
  messages: 'Messages',
  responses: 'Responses',
  completions: 'Completions',
  embeddings: 'Embeddings',
  rerank: 'Rerank',
  score: 'Score',
  batch: 'Batch',
}

export const isSurface = (text: string): text is SurfaceName => (SURFACES as readonly string[]).includes(text)

/** Calls of older versions have no surface. */
export const surfaceLabel = (surface: string | null | undefined): string =>
  surface ? (LABELS[surface as SurfaceName] ?? surface) : 'unknown'

export const SURFACE_OPTIONS = SURFACES.map((value) => ({ value, label: LABELS[value] }))

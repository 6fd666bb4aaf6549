const LABELS: Record<string, string> = { chat: 'Chat', embedding: 'Embedding', rerank: 'Rerank' }

/** What a model is for. */
export const modalityLabel = (modality: string): string => LABELS[modality] ?? modality

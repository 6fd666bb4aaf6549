/** How long the responses of a workspace are stored, as a sentence. */
export const retentionText = (days: number | null | undefined) => {
  if (!days) return 'Responses are not stored.'
  return `Responses are stored for ${days === 1 ? '1 day' : `${days} days`}.`
}
